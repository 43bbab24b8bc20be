import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { OutboundMessage } from '../../../src/host/bus/index.ts';
import { makeWorkspace, SECRET, type TestWorkspace } from './workspace.ts';

/** The texts below were recorded from nanobot 0.3.5 and are compared character for character. */
const HINT = '\n\n[Analyze the error above and try a different approach.]';

const AVAILABLE =
  'read_file, write_file, edit_file, list_dir, find_files, grep, exec, web_fetch, current_time, send_message';

const BOUNDARY =
  ' (this is a hard policy boundary, not a transient failure; do not retry with shell tricks or alternative tools, ' +
  'and ask the user how to proceed if the resource is genuinely required)';

let workspace: TestWorkspace;
let sent: OutboundMessage[];

beforeEach(() => {
  sent = [];
  workspace = makeWorkspace({
    exec: { enable: true },
    publishOutbound: (message) => {
      sent.push(message);
    },
  });
});
afterEach(() => workspace.remove());

const failure = (content: string) => ({ content: content + HINT, isError: true });
const good = (content: string) => ({ content, isError: false });

describe('the recorded texts of an unknown tool', () => {
  it('suggest the one that is meant', async () => {
    expect(await workspace.call('Read_File', { path: 'a.txt' })).toEqual(
      failure(
        "Error: Tool 'Read_File' not found. Did you mean 'read_file'? Tool names must match exactly. " +
          `Available: ${AVAILABLE}`,
      ),
    );
  });

  it('suggest nothing when nothing is near', async () => {
    expect(await workspace.call('fly_to_the_moon', {})).toEqual(
      failure(`Error: Tool 'fly_to_the_moon' not found. Available: ${AVAILABLE}`),
    );
  });
});

describe('the recorded texts of wrong arguments', () => {
  it.each([
    ['', 'missing required path'],
    [null, 'missing required path'],
    ['   ', 'missing required path'],
    [{}, 'missing required path'],
    [{ path: 'a.txt', limit: 'abc' }, 'limit should be integer'],
    [{ path: 'a.txt', bogus: 1 }, 'unexpected parameter bogus'],
    [{ limit: 'x', bogus: 1 }, 'missing required path; limit should be integer; unexpected parameter bogus'],
    [{ path: 'a.txt', limit: 0 }, 'limit must be >= 1'],
    [{ path: null }, 'path should be string'],
  ])('read_file %j', async (args, message) => {
    expect(await workspace.call('read_file', args)).toEqual(
      failure(`Error: Invalid parameters for tool 'read_file': ${message}`),
    );
  });

  it.each([
    ['[1]', 'list'],
    ['not json', 'str'],
    ['null', 'str'],
    [5, 'int'],
    [1.5, 'float'],
    [true, 'bool'],
    [[], 'list'],
  ])('read_file %j is no JSON object', async (args, type) => {
    expect(await workspace.call('read_file', args)).toEqual(
      failure(
        `Error: Tool 'read_file' parameters must be a JSON object, got ${type}. Use named parameters like ` +
          'tool_name(param1="value1", param2="value2") matching the tool schema.',
      ),
    );
  });

  it('casts a number to a path', async () => {
    expect(await workspace.call('read_file', { path: 5 })).toEqual(failure('Error: File not found: 5'));
  });

  it('unwraps arguments within arguments, JSON text or object, and casts what is in them', async () => {
    const expected = good('1| one\n\n(Showing lines 1-1 of 2. Use offset=2 to continue.)');

    const asText = { arguments: '{"path":"a.txt","limit":"1"}' };
    expect(await workspace.call('read_file', asText, { session: 'a' })).toEqual(expected);
    const asObject = { arguments: { path: 'a.txt', limit: 1 } };
    expect(await workspace.call('read_file', asObject, { session: 'b' })).toEqual(expected);
    expect(await workspace.call('read_file', JSON.stringify(asText), { session: 'c' })).toEqual(expected);
  });
});

describe('the recorded texts of the workspace boundary', () => {
  it.each(['link', '~/x', '../../etc/passwd', '/etc/passwd', 'SIBLING'])('read_file %s', async (given) => {
    symlinkSync('/etc/passwd', join(workspace.root, 'link'));
    const path = given === 'SIBLING' ? `${workspace.root}-evil/secret.txt` : given;

    expect(await workspace.call('read_file', { path })).toEqual(
      failure(`Error: Path ${path} is outside allowed directory ${workspace.root}${BOUNDARY}`),
    );
  });

  it('read_file /dev/zero', async () => {
    expect(await workspace.call('read_file', { path: '/dev/zero' })).toEqual(
      failure(
        'Error: Reading /dev/zero is blocked (device path that could hang or produce infinite output).',
      ),
    );
  });
});

describe('the recorded texts of file state', () => {
  it('a file read again unchanged', async () => {
    await workspace.call('read_file', { path: 'a.txt' });

    expect(await workspace.call('read_file', { path: 'a.txt' })).toEqual(
      good('[File unchanged since last read: a.txt]'),
    );
  });

  it('an edit without a read is done, with a warning', async () => {
    expect(await workspace.call('edit_file', { path: 'a.txt', old_text: 'one', new_text: 'uno' })).toEqual(
      good(
        'Warning: file has not been read yet. Read it first to verify content before editing.\n' +
          'Patch applied:\n- update a.txt (+1/-1)',
      ),
    );
    expect(workspace.read('a.txt')).toBe('uno\ntwo\n');
  });
});

describe('the recorded texts of exec', () => {
  const NOTE = '\n\nNote: this is a hard policy boundary';

  it('deny pattern', async () => {
    expect(await workspace.call('exec', { command: 'rm -rf x' })).toEqual(
      failure('Error: Command blocked by deny pattern filter'),
    );
  });

  it.each([
    [{ command: 'cat ../x' }, 'Error: Command blocked by safety guard (path traversal detected)'],
    [{ command: 'cat /etc/passwd' }, 'Error: Command blocked by safety guard (path outside working dir)'],
    [{ command: 'pwd', working_dir: '/etc' }, 'Error: working_dir is outside the configured workspace'],
  ])('%j, with the note', async (args, message) => {
    const text = await workspace.text('exec', args);

    expect(text.startsWith(message + NOTE)).toBe(true);
    expect(text.endsWith(HINT)).toBe(true);
    expect(text).not.toContain(SECRET);
  });

  it('internal URL', async () => {
    expect(await workspace.call('exec', { command: 'curl http://127.0.0.1:1/' })).toEqual(
      failure('Error: Command blocked by safety guard (internal/private URL detected)'),
    );
  });
});

describe('the recorded texts of the other tools', () => {
  it('web_fetch of loopback is a result, not an error', async () => {
    expect(await workspace.call('web_fetch', { url: 'http://127.0.0.1:1/x' })).toEqual(
      good(
        '{"error": "URL validation failed: Blocked: 127.0.0.1 resolves to private/internal address 127.0.0.1", ' +
          '"url": "http://127.0.0.1:1/x"}',
      ),
    );
  });

  it('a message sent', async () => {
    expect(await workspace.call('send_message', { content: 'hi' })).toEqual(good('Message sent to test:1'));
    expect(await workspace.call('send_message', { content: 'hi', channel: 'mail', chat_id: 'x' })).toEqual(
      good('Message sent to mail:x'),
    );
    expect(sent.map(({ channel, chatId, content }) => [channel, chatId, content])).toEqual([
      ['test', '1', 'hi'],
      ['mail', 'x', 'hi'],
    ]);
  });
});
