// The voice process as these tests need it: it answers the handshake, and does what it is told by `outbound`.
import { spawn } from 'node:child_process';
import { appendFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const mode = process.env.FAKE_MODE ?? '';
const seen = (entry) =>
  process.env.FAKE_SEEN && appendFileSync(process.env.FAKE_SEEN, `${JSON.stringify(entry)}\n`);
const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
const waiting = new Map();
let last = 0;
const ask = (method, params) =>
  new Promise((resolve) => {
    last += 1;
    waiting.set(last, resolve);
    send({ id: last, method, params });
  });

// A child of its own, in the same group: whoever stops us has to take it, too.
if (mode === 'child') {
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
  seen({ child: child.pid });
}
seen({
  pid: process.pid,
  secrets: { key: process.env.OPENAI_API_KEY, token: process.env.TWILIO_AUTH_TOKEN },
});
console.error(JSON.stringify({ level: 30, msg: 'the fake is here' }));
if (mode === 'dies-at-once') {
  console.error('it can not go on');
  process.exit(3);
}

const answers = {
  async initialize(params) {
    seen({ initialize: params });
    if (mode === 'cant-start')
      throw { code: -32010, message: 'Port 8787 is taken.', data: { code: 'ADDRESS_IN_USE' } };
    if (mode === 'other-protocol')
      throw { code: -32001, message: 'another version', data: { supported: [7] } };
    const { result } = await ask('tools/list', {});
    return {
      protocol: 1,
      name: 'nanobot-channel-realtime',
      version: '0.1.0',
      pid: process.pid,
      address: 'http://127.0.0.1:8787',
      publicUrl: null,
      model: `fake, ${result.definitions.length} tools`,
      gate: params.toolAccess.gate && mode !== 'no-gate',
      operatorUrl: null,
      operatorToken: null,
      notes: [],
    };
  },
  'gate/check': async (params) => {
    seen({ check: params });
    if (mode === 'gate-fails') throw { code: -32603, message: 'no' };
    const run = params.name !== 'write_file';
    return run ? { run } : { run, output: 'It waits for a person.', isError: false };
  },
  ping: async () => (mode === 'stuck' ? new Promise(() => {}) : {}),
  async 'config/changed'({ config }) {
    seen({ edited: config });
    if (mode === 'older') throw { code: -32601, message: 'unknown method' };
    const { toolGate, scope } = config.approvals ?? {};
    const approvals = scope === 'broken' ? 'broken' : toolGate ? 'inForce' : 'waiting';
    return { gate: approvals === 'inForce', approvals, restart: config.greeting === 'Hi.' };
  },
  'approvals/decide': async ({ channel, senderId, content }) => ({
    reply: `${channel}:${senderId} said ${content}`,
  }),
  async outbound(params) {
    seen({ outbound: params });
    if (!params.content.startsWith('{"ask"')) return { handled: 'kept', media: 0 };
    const { ask: method, params: asked } = JSON.parse(params.content);
    return { handled: 'kept', media: 0, answer: await ask(method, asked) };
  },
  async shutdown() {
    if (mode === 'stubborn') return new Promise(() => {});
    setTimeout(() => process.exit(0), 10);
    return {};
  },
};

if (mode === 'stubborn') process.on('SIGTERM', () => {});
const lines = createInterface({ input: process.stdin });
lines.on('close', () => mode !== 'stubborn' && process.exit(0));
if (mode === 'stubborn') setInterval(() => {}, 1000);
lines.on('line', async (line) => {
  const { id, method, params, result, error } = JSON.parse(line);
  if (method === undefined) {
    waiting.get(id)?.({ result, error });
    waiting.delete(id);
  } else if (id === undefined) {
    seen({ [method]: params });
  } else if (params?.content === 'crash') {
    process.exit(1);
  } else {
    await answers[method](params).then(
      (answer) => send({ id, result: answer }),
      (failed) => send({ id, error: failed }),
    );
  }
});
