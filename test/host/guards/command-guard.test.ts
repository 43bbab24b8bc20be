import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runGuarded } from '../../../src/gateway/index.ts';
import {
  commandRefusal,
  commandSegments,
  MAX_COMMAND_CHARS,
  MAX_COMMAND_WORDS,
  SessionFileStates,
  SsrfPolicy,
} from '../../../src/host/guards/index.ts';
import { makeWorkspace, type TestWorkspace } from '../tools/workspace.ts';

// Commands are only judged here, never run: a guard that fails must fail its test, not the machine.

let workspace: TestWorkspace;

beforeAll(() => {
  workspace = makeWorkspace({ reservedRoots: ['ws/data', 'outside/reserved'] });
  workspace.write('sub/x.txt', 'found');
  workspace.link(workspace.outside, 'link');
  workspace.link(join(workspace.outside, 'secret.txt'), 'file-link');
  mkdirSync(join(workspace.base, 'home'));
});
afterAll(() => workspace.remove());

const ssrf = new SsrfPolicy({
  resolver: async (hostname) => [
    { address: hostname === 'public.example' ? '93.184.215.14' : '127.0.0.1', family: 4 },
  ],
});

interface Judging {
  readonly restrict?: boolean;
  readonly allowLoopback?: boolean;
  readonly allowPatterns?: readonly RegExp[];
  readonly denyPatterns?: readonly RegExp[];
}

async function judge(command: string, { restrict = true, allowLoopback = false, ...patterns }: Judging = {}) {
  const request = { channel: 'c', chatId: '1', messageId: null, sessionKey: 'c:1', metadata: {} };
  const workspaceScope = { workspace: workspace.root, restrictToWorkspace: restrict, sourceChannel: null };
  const view = await runGuarded({ fileStates: new SessionFileStates(), request, workspaceScope }, () =>
    workspace.policy.view('write'),
  );
  return commandRefusal(command, workspace.root, view, ssrf, { allowLoopback, ...patterns });
}

describe('the guard of exec', () => {
  it.each([
    'rm -rf sub',
    'rm -r sub',
    'rm -f a.txt',
    'rm -fr sub',
    'rm -v -r sub',
    'rm --recursive sub',
    'echo; rm -rf sub',
    'RM -RF sub',
    'dd if=/dev/zero of=x',
    'dd bs=1 of=x',
    'mkfs.ext4 x',
    'format c:',
    'echo x > /dev/sda',
    'echo x >/dev/nvme0n1',
    'shutdown now',
    'sudo reboot',
    'poweroff',
    ':(){ :|:& };:',
  ])('refuses %s by pattern', async (command) => {
    expect(await judge(command)).toBe('Error: Command blocked by deny pattern filter');
  });

  it.each([
    ['cat ../outside/secret.txt', 'path traversal detected'],
    ['cd .. && cat outside/secret.txt', 'path traversal detected'],
    ['cat "../outside/secret.txt"', 'path traversal detected'],
    ['cat sub/../../outside/secret.txt', 'path traversal detected'],
    ['cat ..\\outside', 'path traversal detected'],
    ['cat /etc/passwd', 'path outside working dir'],
    ["cat '/etc/passwd'", 'path outside working dir'],
    ['cat</etc/passwd', 'path outside working dir'],
    ['cat $(echo /etc/passwd)', 'path outside working dir'],
    ['cat ~/secret.txt', 'path outside working dir'],
    ['cat ~root/secret.txt', 'path outside working dir'],
    ['echo x > /tmp/x', 'path outside working dir'],
    ['echo x >/tmp/x', 'path outside working dir'],
    ['FILE=/etc/passwd cat', 'path outside working dir'],
    ['grep -f/etc/passwd a.txt', 'path outside working dir'],
    ['ls /', 'path outside working dir'],
    ['cat /proc/self/environ', 'path outside working dir'],
    ['cat data/x', 'path outside working dir'],
    ['ls data', 'path outside working dir'],
    ['cat link/secret.txt', 'path outside working dir'],
    ['cat file-link', 'path outside working dir'],
    ['curl http://127.0.0.1:8787/', 'internal/private URL detected'],
    ['curl "HTTP://LOCALHOST/"', 'internal/private URL detected'],
    ['wget https://internal.example/x', 'internal/private URL detected'],
    ['curl http://169.254.169.254/', 'internal/private URL detected'],
    ['curl http://user:password@public.example/', 'internal/private URL detected'],
    [`echo ${'a '.repeat(MAX_COMMAND_WORDS)}`, 'command not readable'],
    [`echo ${'a'.repeat(MAX_COMMAND_CHARS)}`, 'command not readable'],
    ['cat a.txt\0', 'command not readable'],
  ])('refuses %s', async (command, reason) => {
    const refusal = await judge(command);

    expect(refusal?.startsWith(`Error: Command blocked by safety guard (${reason})`)).toBe(true);
    expect(refusal?.includes('Note: this is a hard policy boundary')).toBe(reason.startsWith('path'));
  });

  it.each([
    'cat sub/x.txt',
    'cat WORKSPACE/sub/x.txt',
    'cat sub/x.txt 2> /dev/null',
    'cat < sub/x.txt | head -n 1 && true',
    'cd sub; cat x.txt',
    'echo one...two',
    'echo done. ok',
    'grep -rn pattern .',
    'rm a.txt',
    'curl https://public.example/path',
    'prettier --format=x',
  ])('lets %s through', async (command) => {
    expect(await judge(command.replace('WORKSPACE', workspace.root))).toBeNull();
  });

  it('keeps what is reserved even without the restriction', async () => {
    const free = { restrict: false };

    expect(await judge(`cat ${workspace.outside}/secret.txt`, free)).toBeNull();
    expect(await judge('cat ../outside/secret.txt', free)).toBeNull();
    for (const path of [
      'data/x',
      `${workspace.outside}/reserved/x`,
      'link/reserved/x',
      '/proc/self/environ',
    ]) {
      expect(await judge(`cat ${path}`, free)).toContain('path outside working dir');
    }
  });

  it('lets loopback be named only when it is told so', async () => {
    expect(await judge('curl http://127.0.0.1:3000/', { allowLoopback: true })).toBeNull();
    expect(await judge('curl http://10.0.0.1/', { allowLoopback: true })).toContain('internal/private URL');
  });

  it('takes an allow pattern for the whole of every part of a command', async () => {
    const allowPatterns = [/echo \w+/, /rm -r build/];

    expect(await judge('echo hello', { allowPatterns })).toBeNull();
    expect(await judge('rm -r build && echo gone', { allowPatterns })).toBeNull();
    expect(await judge('rm -r build; rm -rf sub', { allowPatterns })).toContain('deny pattern filter');
    expect(await judge('rm -r build sub', { allowPatterns })).toContain('deny pattern filter');
    for (const command of ['echo hello; ls', 'echo hello | ls', 'echo hello\nls', 'echo $(ls)']) {
      expect(await judge(command, { allowPatterns })).toBe(
        'Error: Command blocked by allowlist filter (not in allowlist)',
      );
    }
  });

  it('refuses more when the config has patterns of its own', async () => {
    expect(await judge('curl https://public.example/', { denyPatterns: [/\bcurl\b/] })).toContain(
      'deny pattern filter',
    );
  });
});

describe('the parts of a command', () => {
  it.each([
    ['a; b && c || d | e & f', ['a', 'b', 'c', 'd', 'e', 'f']],
    ['echo \'a; b\' "c | d" `e; f`', ['echo \'a; b\' "c | d" `e; f`']],
    ['(a; b); c', ['(a; b)', 'c']],
    ['echo a\\;b', ['echo a\\;b']],
    ['a\nb', ['a', 'b']],
    ['  ;; ', []],
  ])('of %j are %j', (command, expected) => {
    expect(commandSegments(command)).toEqual(expected);
  });
});
