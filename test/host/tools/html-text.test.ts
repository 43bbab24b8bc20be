import { describe, expect, it } from 'vitest';
import { HtmlText, type HtmlTextMode } from '../../../src/host/tools/html-text.ts';

function convert(html: string, mode: HtmlTextMode = 'markdown', limit = 100_000) {
  const converter = new HtmlText(mode, limit);
  // In small pieces, as a network brings it.
  for (let at = 0; at < html.length; at += 7) converter.write(html.slice(at, at + 7));
  return converter.end();
}

describe('a page as text', () => {
  it('keeps headings, paragraphs, lists and links', () => {
    const html =
      '<h1>One</h1><p>First <b>bold</b>\n text.</p><ul><li>a<li><a href="https://e.example/b">b</a></ul><p>Last';

    expect(convert(html).text).toBe('# One\n\nFirst bold text.\n\n- a\n- [b](https://e.example/b)\n\nLast');
    expect(convert(html, 'text').text).toBe('One\n\nFirst bold text.\n\na\nb\n\nLast');
  });

  it('leaves out what nobody reads', () => {
    const hidden =
      '<script>x</script><style>x</style><nav>x</nav><footer>x</footer><noscript>x</noscript><svg><text>x</text></svg>';

    expect(convert(`${hidden}<p>seen</p>${hidden}`).text).toBe('seen');
    expect(convert('<a href="javascript:x()">a</a> <a href="#part">b</a> <a href="/c"><img></a>').text).toBe(
      'a b',
    );
  });

  it('prefers the main part of a page when there is enough of it', () => {
    const body = 'The story itself. '.repeat(20).trim();

    expect(convert(`<p>Banner</p><main><p>${body}</p></main><p>More</p>`).text).toBe(body);
    expect(convert('<p>Banner</p><main>stub</main>').text).toBe('Banner\n\nstub');
  });

  it('keeps the layout of preformatted text and the cells of a table apart', () => {
    expect(convert('<pre>a\n  b</pre>').text).toBe('a\n  b');
    expect(convert('<table><tr><td>a<td>b<tr><td>c').text).toBe('a b\nc');
  });

  it('takes the title from the head, not the text', () => {
    expect(convert('<head><title>A  &lt;title&gt;</title></head><body>b')).toEqual({
      title: 'A <title>',
      text: 'b',
    });
  });

  it('stays within its limit and in time however broken the page is', () => {
    const converter = new HtmlText('markdown', 1000);
    const started = performance.now();
    for (let piece = 0; piece < 300; piece += 1)
      converter.write('<div><a href="'.repeat(100) + '<p>x '.repeat(100));
    for (let piece = 0; piece < 300; piece += 1) converter.write(`"></a>${'<div>y '.repeat(500)}`);

    expect(converter.isFull).toBe(true);
    expect(converter.end().text.length).toBeLessThan(1100);
    expect(performance.now() - started).toBeLessThan(5000);
  });
});
