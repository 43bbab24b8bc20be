import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Clock } from '../../../src/clock.ts';
import { realClock } from '../../../src/clock.ts';
import { toolResultText } from '../../../src/gateway/index.ts';
import { type ConnectorFactory, pinnedConnector, SsrfPolicy } from '../../../src/host/guards/index.ts';
import { UNTRUSTED_NOTE, webFetchTool } from '../../../src/host/tools/web-fetch.ts';
import { MAX_IMAGE_BYTES, MAX_PAGE_BYTES } from '../../../src/host/tools/web-page.ts';

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

let server: Server;
let port: number;
let requests: IncomingMessage[];
let handler: Handler;
let connections: string[];

beforeEach(async () => {
  requests = [];
  connections = [];
  handler = (_request, response) => response.end('hello');
  server = createServer((request, response) => {
    requests.push(request);
    handler(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  port = (server.address() as AddressInfo).port;
});
afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

/** The real connector, and a note of every address it was made for. */
const watched: ConnectorFactory = (addresses) => {
  connections.push(...addresses.map(({ address }) => address));
  return pinnedConnector(addresses);
};

function makeTool(options: { clock?: Clock; resolver?: ConstructorParameters<typeof SsrfPolicy>[0] } = {}) {
  const policy = new SsrfPolicy({ whitelist: ['127.0.0.1/32'], ...options.resolver });
  return webFetchTool({ policy, clock: options.clock ?? realClock, connector: watched });
}

async function fetchText(url: string, args = {}, tool = makeTool(), signal = new AbortController().signal) {
  const output = await tool.execute({ url, ...args }, { signal });
  if (typeof output === 'string' || !('isError' in output)) throw new Error('not a result');
  expect(output.isError).toBe(false);
  return toolResultText(output);
}

const fetchJson = async (...args: Parameters<typeof fetchText>) => JSON.parse(await fetchText(...args));

const local = (path = '/') => `http://127.0.0.1:${port}${path}`;

describe('web_fetch', () => {
  it('gives a plain text back, marked as untrusted, in JSON as Python writes it', async () => {
    const text = await fetchText(local('/x'));

    const url = JSON.stringify(local('/x'));
    const body = `${UNTRUSTED_NOTE}\n\nhello`;
    expect(text).toBe(
      `{"url": ${url}, "finalUrl": ${url}, "status": 200, "extractor": "raw", "truncated": false, ` +
        `"length": ${body.length}, "untrusted": true, "text": ${JSON.stringify(body)}}`,
    );
  });

  it('turns a page into text', async () => {
    handler = (_request, response) => {
      response.setHeader('content-type', 'text/html; charset=utf-8');
      response.end(
        '<title>T &amp; U</title><script>bad()</script><h2>Head</h2><p>Some <a href="/x">link</a>.',
      );
    };

    expect((await fetchJson(local())).text).toBe(
      `${UNTRUSTED_NOTE}\n\n# T & U\n\n## Head\n\nSome [link](/x).`,
    );
    expect((await fetchJson(local(), { extractMode: 'text' })).text).toBe(
      `${UNTRUSTED_NOTE}\n\n# T & U\n\nHead\n\nSome link.`,
    );
  });

  it('lays JSON out, and reads other charsets and compressions', async () => {
    handler = (request, response) => {
      if (request.url === '/json') {
        response.setHeader('content-type', 'application/json');
        response.end('{"a":[1]}');
      } else if (request.url === '/latin') {
        response.setHeader('content-type', 'text/plain; charset=iso-8859-1');
        response.end(Buffer.from([0xe9]));
      } else {
        response.setHeader('content-encoding', 'gzip');
        response.end(gzipSync('zipped'));
      }
    };

    expect((await fetchJson(local('/json'))).text).toContain('{\n  "a": [\n    1\n  ]\n}');
    expect((await fetchJson(local('/latin'))).text).toContain('é');
    expect((await fetchJson(local('/gzip'))).text).toContain('zipped');
  });

  it('gives an image back as an image', async () => {
    const png = Buffer.from('89504e470d0a1a0a00', 'hex');
    handler = (_request, response) => {
      response.setHeader('content-type', 'image/png');
      response.end(png);
    };

    const output = await makeTool().execute({ url: local() }, { signal: new AbortController().signal });

    expect(output).toEqual({
      content: [
        { type: 'image_url', image_url: { url: `data:image/png;base64,${png.toString('base64')}` } },
        { type: 'text', text: `(Image fetched from: ${local()})` },
      ],
      isError: false,
    });
  });

  it('takes no image that is too large, or none', async () => {
    let body = Buffer.alloc(MAX_IMAGE_BYTES + 1);
    handler = (_request, response) => {
      response.setHeader('content-type', 'image/png');
      response.end(body);
    };

    expect((await fetchJson(local())).error).toBe('Image is too large');
    body = Buffer.from('<svg/>');
    expect((await fetchJson(local())).error).toBe('Image type is not supported');
  });

  it('tells a failed status', async () => {
    handler = (_request, response) => {
      response.statusCode = 404;
      response.end('not here');
    };

    expect(await fetchText(local())).toBe(`{"error": "HTTP 404", "url": "${local()}"}`);
  });

  it('sends no cookie, no credential and no referrer', async () => {
    await fetchText(local());

    const names = Object.keys(requests[0]!.headers);
    expect(names.filter((name) => /cookie|authorization|referer|origin/.test(name))).toEqual([]);
  });
});

describe('web_fetch and redirects', () => {
  const redirectTo = (target: string, status = 302) => {
    handler = (request, response) => {
      if (request.url === '/end') response.end('the end');
      else response.writeHead(status, { location: target }).end();
    };
  };

  it.each([301, 302, 303, 307, 308])('follows %i, and checks where it leads', async (status) => {
    redirectTo('/end', status);

    expect(await fetchJson(local())).toMatchObject({ finalUrl: local('/end'), status: 200 });
    expect(connections).toEqual(['127.0.0.1', '127.0.0.1']);
  });

  it.each([
    'http://169.254.169.254/latest/meta-data/',
    'http://[::1]/',
    'http://127.0.0.2:1/',
    '//10.0.0.1/',
    'http://2130706434/',
    'http://user:password@127.0.0.1/',
    'file:///etc/passwd',
    'http:\\\\10.0.0.1\\',
    'gopher://127.0.0.1/',
  ])('refuses one to %s, without a connection', async (target) => {
    redirectTo(target);

    const { error } = await fetchJson(local());

    expect(error).toMatch(/^Redirect blocked: ./);
    expect(error).not.toContain('password');
    expect(requests).toHaveLength(1);
    expect(connections).toEqual(['127.0.0.1']);
  });

  it('follows five and no more', async () => {
    redirectTo('/again');

    const { error } = await fetchJson(local());

    expect(error).toBe('Too many redirects: exceeded limit of 5');
    expect(requests).toHaveLength(6);
  });
});

describe('web_fetch and rebinding', () => {
  it('connects to what was checked even when the name resolves elsewhere a moment later', async () => {
    let asked = 0;
    const resolver = async () => {
      asked += 1;
      // Checked: our server. Ever after: an address that nobody may reach.
      return [{ address: asked === 1 ? '127.0.0.1' : '10.0.0.1', family: 4 as const }];
    };

    const result = await fetchJson(
      `http://rebinding.example:${port}/`,
      {},
      makeTool({ resolver: { resolver } }),
    );

    expect(result.text).toContain('hello');
    expect(requests[0]!.headers.host).toBe(`rebinding.example:${port}`);
    expect(asked).toBe(1);
    expect(connections).toEqual(['127.0.0.1']);
  });

  it('refuses a peer that is not the checked one', async () => {
    // Checked is 127.0.0.2; the connector is asked for the literal 127.0.0.1, for which no lookup is made.
    const connect = pinnedConnector([{ address: '127.0.0.2', family: 4 }]);
    const outcome = await new Promise<Error | null>((resolve) => {
      connect({ hostname: '127.0.0.1', protocol: 'http:', port: String(port) }, (...[error]) =>
        resolve(error),
      );
    });

    expect(outcome?.message).toBe('connected to an address that was not checked');
  });
});

describe('web_fetch and its bounds', () => {
  it('stops reading where enough was read, packed or not', async () => {
    const big = Buffer.alloc(MAX_PAGE_BYTES * 4, 'x');
    handler = (request, response) => {
      if (request.url !== '/packed') {
        response.end(big);
        return;
      }
      response.setHeader('content-encoding', 'gzip');
      response.setHeader('content-type', 'application/json');
      response.end(gzipSync(big));
    };

    for (const path of ['/plain', '/packed']) {
      const result = await fetchJson(local(path), { maxChars: 1000 });
      expect(result).toMatchObject({ truncated: true });
      expect(result.text).toHaveLength(UNTRUSTED_NOTE.length + 2 + 1000);
    }
  });

  it('gives up after its time, and leaves nothing open', async () => {
    handler = () => {};
    let fire = () => {};
    let cleared = false;
    const clock: Clock = {
      ...realClock,
      setTimeout: (callback) => {
        fire = callback;
        return {
          clear: () => {
            cleared = true;
          },
        };
      },
    };
    const fetching = fetchText(local(), {}, makeTool({ clock }));
    await new Promise<void>((resolve) => server.once('request', () => resolve()));

    fire();

    expect(await fetching).toBe(`{"error": "Timed out after 30 seconds", "url": "${local()}"}`);
    expect(cleared).toBe(true);
  });

  it('ends when the call is cancelled', async () => {
    handler = () => {};
    const controller = new AbortController();
    const fetching = fetchText(local(), {}, makeTool(), controller.signal);
    const closed = new Promise<void>((resolve) => {
      server.once('request', (request: IncomingMessage) => request.once('close', () => resolve()));
    });
    await new Promise<void>((resolve) => server.once('request', () => resolve()));

    controller.abort(new Error('hung up'));

    await expect(fetching).rejects.toThrow('hung up');
    await closed;
  });
});
