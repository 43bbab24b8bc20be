import { describe, expect, it } from 'vitest';
import { realClock } from '../../../src/clock.ts';
import { isVoiceError } from '../../../src/errors.ts';
import { toolResultText } from '../../../src/gateway/index.ts';
import {
  type ConnectorFactory,
  MAX_ADDRESSES,
  type Resolver,
  SsrfPolicy,
} from '../../../src/host/guards/index.ts';
import { webFetchTool } from '../../../src/host/tools/web-fetch.ts';

/** Names and what a hostile resolver answers. Public by number: 93.184.215.14, 2606:4700::6810:1. */
const NAMES: Readonly<Record<string, readonly string[]>> = {
  localhost: ['127.0.0.1', '::1'],
  'localhost.': ['127.0.0.1'],
  'app.localhost': ['127.0.0.1'],
  'loopback.example': ['127.0.0.1'],
  'private.example': ['10.1.2.3'],
  'metadata.example': ['169.254.169.254'],
  'metadata.google.internal': ['169.254.169.254'],
  'one-of-two.example': ['93.184.215.14', '192.168.0.1'],
  'one-of-three.example': ['93.184.215.14', '2606:4700::6810:1', 'fe80::1%eth0'],
  'mapped.example': ['::ffff:10.0.0.1'],
  'nat64.example': ['64:ff9b::7f00:1'],
  'zone.example': ['fe80::1%lo'],
  'unspecified.example': ['0.0.0.0'],
  'nonsense.example': ['not an address'],
  'empty.example': [],
  'many.example': Array.from({ length: MAX_ADDRESSES + 1 }, () => '93.184.215.14'),
  'public.example': ['93.184.215.14', '2606:4700::6810:1'],
};

const resolver: Resolver = async (hostname) => {
  const addresses = NAMES[hostname];
  if (addresses === undefined) throw new Error('ENOTFOUND');
  return addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
};

/** URLs that lead inside, or that two parsers may read differently. None may open a connection. */
const FORMS: readonly string[] = [
  // Loopback in every writing.
  'http://127.0.0.1/',
  'http://127.0.0.1:8787/healthz',
  'https://127.0.0.1/',
  'http://127.1/',
  'http://127.0.1/',
  'http://127.255.255.254/',
  'http://2130706433/',
  'http://0x7f000001/',
  'http://0x7f.0.0.1/',
  'http://0x7f.1/',
  'http://017700000001/',
  'http://0177.0.0.1/',
  'http://0177.0.0.01/',
  'http://127.0.0.1./',
  'http://①②⑦.⓪.⓪.①/',
  'http://１２７.０.０.１/',
  'http://127。0。0。1/',
  'http://%31%32%37.0.0.1/',
  'http://LOCALHOST/',
  'http://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ/',
  'http://[::1]/',
  'http://[0:0:0:0:0:0:0:1]/',
  'http://[::1]:80/',
  'http://[::]/',
  // IPv4 inside IPv6.
  'http://[::ffff:127.0.0.1]/',
  'http://[::ffff:7f00:1]/',
  'http://[0:0:0:0:0:ffff:a00:1]/',
  'http://[::ffff:169.254.169.254]/',
  'http://[::127.0.0.1]/',
  'http://[::ffff:0:127.0.0.1]/',
  'http://[64:ff9b::127.0.0.1]/',
  'http://[64:ff9b::a9fe:a9fe]/',
  'http://[64:ff9b:1::10.0.0.1]/',
  'http://[2002:7f00:1::]/',
  'http://[2002:a9fe:a9fe::1]/',
  'http://[2001:0:7f00:1::1]/',
  'http://[2001:0:4136:e378:8000:63bf:80ff:fffe]/',
  // Private, link-local, shared and reserved ranges.
  'http://0.0.0.0/',
  'http://0/',
  'http://0.1.2.3/',
  'http://10.0.0.1/',
  'http://10.255.255.255/',
  'http://172.16.0.1/',
  'http://172.31.255.255/',
  'http://192.168.1.1/',
  'http://192.168.257/',
  'http://3232235777/',
  'http://169.254.169.254/latest/meta-data/',
  'http://0xa9fea9fe/',
  'http://2852039166/',
  'http://0251.0376.0251.0376/',
  'http://168.63.129.16/',
  'http://100.64.0.1/',
  'http://100.100.100.200/',
  'http://192.0.0.192/',
  'http://192.0.2.1/',
  'http://192.88.99.1/',
  'http://198.18.0.1/',
  'http://198.51.100.1/',
  'http://203.0.113.1/',
  'http://224.0.0.1/',
  'http://239.255.255.250/',
  'http://240.0.0.1/',
  'http://255.255.255.255/',
  'http://4294967295/',
  'http://[fc00::1]/',
  'http://[fd00:ec2::254]/',
  'http://[fe80::1]/',
  'http://[fe80::1%25eth0]/',
  'http://[fec0::1]/',
  'http://[ff02::1]/',
  'http://[100::1]/',
  'http://[2001:db8::1]/',
  'http://[3fff::1]/',
  'http://[5f00::1]/',
  'http://[4000::1]/',
  // Names that resolve inside, in part or in whole, or not at all.
  ...Object.keys(NAMES)
    .filter((name) => name !== 'public.example')
    .map((name) => `http://${name}/`),
  'http://unknown.example/',
  // Credentials.
  'http://user:password@public.example/',
  'http://user@public.example/',
  'http://:password@public.example/',
  'http://public.example@127.0.0.1/',
  'http://127.0.0.1#@public.example/',
  // What one parser repairs and another doesn't.
  'http:\\\\127.0.0.1\\',
  'http://127.0.0.1\\@public.example/',
  'http://public.example\\.localhost/',
  'http:127.0.0.1/',
  'http:/127.0.0.1/',
  'http:///127.0.0.1/',
  'http:////127.0.0.1/',
  'http://127.0.0.1\t/',
  'http://127.0.\n0.1/',
  'http://127.0.0.1\0/',
  'http://public.example /',
  'http://',
  'http://?',
  'http://#',
  'http://:80/',
  'http://[::1',
  'http://999.999.999.999/',
  'http://1.2.3.4.5/',
  'http://public.example:99999/',
  `http://public.example/${'x'.repeat(9000)}`,
  // Other schemes.
  'ftp://public.example/',
  'file:///etc/passwd',
  'gopher://127.0.0.1:6379/_INFO',
  'dict://127.0.0.1:11211/stats',
  'data:text/html,hello',
  'javascript:alert(1)',
  'blob:http://public.example/x',
  'ws://public.example/',
  'unix:/var/run/docker.sock',
  'http+unix://%2Fvar%2Frun%2Fdocker.sock/info',
  '//public.example/',
  'public.example',
  '',
];

function fetching(policy: SsrfPolicy) {
  const asked: string[] = [];
  const connector: ConnectorFactory = (addresses) => {
    asked.push(addresses.map(({ address }) => address).join(' '));
    return (_options, callback) => callback(new Error('no network in a test'), null);
  };
  const tool = webFetchTool({ policy, clock: realClock, connector });
  const call = async (url: string) => {
    const output = await tool.execute({ url }, { signal: new AbortController().signal });
    if (typeof output === 'string' || !('isError' in output)) throw new Error('not a result');
    return { isError: output.isError, text: toolResultText(output) };
  };
  return { call, asked };
}

describe('a URL that leads inside', () => {
  it('has at least 60 forms here', () => {
    expect(new Set(FORMS).size).toBe(FORMS.length);
    expect(FORMS.length).toBeGreaterThanOrEqual(60);
  });

  it.each(FORMS.map((url) => [JSON.stringify(url.slice(0, 80)), url] as const))(
    '%s opens no connection',
    async (_name, url) => {
      const { call, asked } = fetching(new SsrfPolicy({ resolver }));

      const { isError, text } = await call(url);

      expect(asked).toEqual([]);
      expect(isError).toBe(false);
      expect(JSON.parse(text).error).toMatch(/^URL validation failed: ./);
      expect(text).not.toContain('password');
    },
  );

  it('is told apart from one that leads out, which is connected to at its checked addresses', async () => {
    const { call, asked } = fetching(new SsrfPolicy({ resolver }));

    const outside = [
      ['http://public.example/', '93.184.215.14 2606:4700::6810:1'],
      ['https://PUBLIC.example:8443/path?q#f', '93.184.215.14 2606:4700::6810:1'],
      ['http://93.184.215.14/', '93.184.215.14'],
      ['http://[2606:4700::6810:1]/', '2606:4700::6810:1'],
      ['http://[64:ff9b::5db8:d70e]/', '64:ff9b::5db8:d70e'],
      ['http://[::ffff:93.184.215.14]/', '93.184.215.14'],
      ['http://172.32.0.1/', '172.32.0.1'],
      ['http://100.128.0.1/', '100.128.0.1'],
      ['http://11.0.0.1/', '11.0.0.1'],
    ] as const;
    for (const [url] of outside) await call(url);

    expect(asked).toEqual(outside.map(([, addresses]) => addresses));
  });
});

describe('the whitelist', () => {
  const allows = (whitelist: string[], address: string) =>
    new SsrfPolicy({ whitelist }).allowsAddress(address);

  it('opens exactly its ranges', () => {
    expect(allows(['100.64.0.0/10'], '100.64.0.1')).toBe(true);
    expect(allows(['100.64.0.0/10'], '::ffff:100.64.0.1')).toBe(true);
    expect(allows(['100.64.0.0/10'], '10.0.0.1')).toBe(false);
    expect(allows(['127.0.0.1/32'], '127.0.0.2')).toBe(false);
    expect(allows(['127.0.0.1'], '127.0.0.1')).toBe(true);
    expect(allows(['fd00::/8'], 'fd12::1')).toBe(true);
    expect(allows(['fd00::/8'], 'fc00::1')).toBe(false);
  });

  it('opens no way around by translation: NAT64 to a listed address is another host', () => {
    expect(allows(['10.0.0.0/8'], '64:ff9b::a00:1')).toBe(false);
  });

  it.each(['10.0.0.0/33', 'ten', '10.0.0.0/8/8', '::/129', 'fe80::1%eth0/64', '', '/8'])(
    'is refused when %j is in it',
    (range) => {
      expect(() => new SsrfPolicy({ whitelist: [range] })).toThrow(
        expect.toSatisfy((error: unknown) => isVoiceError(error, 'CONFIG_INVALID')),
      );
    },
  );
});

describe('loopback for the one channel that may', () => {
  const policy = new SsrfPolicy({ resolver });
  const check = async (url: string) => (await policy.check(url, { allowLoopback: true })).ok;

  it('means literal loopback hosts and nothing else', async () => {
    expect(await check('http://127.0.0.1:3000/')).toBe(true);
    expect(await check('http://[::1]:3000/')).toBe(true);
    expect(await check('http://localhost:3000/')).toBe(true);
    expect(await check('http://loopback.example/')).toBe(false);
    expect(await check('http://app.localhost/')).toBe(false);
    expect(await check('http://10.0.0.1/')).toBe(false);
    expect(await check('http://169.254.169.254/')).toBe(false);
    expect(await check('http://0.0.0.0/')).toBe(false);
  });
});

describe('resolving', () => {
  it('asks once per check, and never about a literal', async () => {
    const asked: string[] = [];
    const policy = new SsrfPolicy({
      resolver: async (hostname) => {
        asked.push(hostname);
        return [{ address: '93.184.215.14', family: 4 }];
      },
    });

    await policy.check('http://public.example/');
    await policy.check('http://127.0.0.1/');
    await policy.check('http://[::1]/');

    expect(asked).toEqual(['public.example']);
  });
});
