/**
 * What a link in an SMS opens: a page with a button. It says nothing of what is behind it.
 *
 * @module
 */

const PAGE = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta name="robots" content="noindex"><title>From your call</title>
<style>body{font:1.1rem system-ui,sans-serif;margin:4rem auto;max-width:24rem;padding:0 1rem;text-align:center}
button{font:inherit;padding:.8rem 2rem;border:0;border-radius:.5rem;background:#2b6cb0;color:#fff}</style></head>
<body><p>Something was sent to you from your call.</p><form method="post"><button>Open it</button></form>
<p><small>The link works a few times, and for one day at most.</small></p></body></html>
`;

export function readerPage(): Response {
  return new Response(PAGE, {
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy':
        "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
    },
  });
}
