/** What a gateway of the tests tells the pages: a conversation, a board, deliveries. Nothing of it is of a real person. */
import { deflateSync } from 'node:zlib';
import type { PageEvent } from '../../src/leg/page/index.ts';
import type { CallRecord } from '../../src/observe/index.ts';
import type { FakeGateway } from './fake-gateway.ts';

const NOW = Date.now();
const MINUTE = 60_000;
export const REQUEST_ID = '0123456789abcdef0123456789abcdef';
export const PICTURE_ID = 'AAAAAAAAAAAAAAAA';
export const FILE_ID = 'BBBBBBBBBBBBBBBB';
export const CALL_ID = 'b5a1c2d3'.padEnd(32, '0');

/** A PNG of one colour. */
export function png(width: number, height: number): Buffer {
  const crcTable = Array.from({ length: 256 }, (_, n) => {
    let c = n;
    for (let k = 0; k < 8; k++) c = c & 1 ? 0xedb88320 ^ (c >>> 1) : c >>> 1;
    return c >>> 0;
  });
  const chunk = (type: string, data: Buffer) => {
    const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
    const crc = ~body.reduce((c, byte) => crcTable[(c ^ byte) & 255]! ^ (c >>> 8), 0xffffffff) >>> 0;
    const frame = Buffer.alloc(8);
    frame.writeUInt32BE(data.length, 0);
    const end = Buffer.alloc(4);
    end.writeUInt32BE(crc, 0);
    return Buffer.concat([frame.subarray(0, 4), body, end]);
  };
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, 2, 0, 0, 0], 8);
  const row = Buffer.concat([Buffer.from([0]), Buffer.alloc(width * 3, 0x66)]);
  const data = deflateSync(Buffer.concat(Array.from({ length: height }, () => row)));
  const signature = Buffer.from('89504e470d0a1a0a', 'hex');
  return Buffer.concat([signature, chunk('IHDR', head), chunk('IDAT', data), chunk('IEND', Buffer.alloc(0))]);
}

export const WELCOME: PageEvent = {
  type: 'welcome',
  v: 1,
  callId: 'call-1',
  role: 'owner',
  transport: 'socket',
  resumed: false,
};

const says = (role: 'user' | 'assistant', itemId: string, text: string): PageEvent => ({
  type: 'transcript',
  role,
  itemId,
  text,
  append: false,
  final: true,
});

export const PENDING: PageEvent = {
  type: 'approval',
  id: REQUEST_ID,
  tool: 'delete_file',
  summary: 'delete file: report dot txt',
  status: 'pending',
  args: '{"path":"report.txt"}',
  canDecide: true,
  expiresAt: NOW + 3 * MINUTE,
};

export const CONVERSATION: readonly PageEvent[] = [
  says('assistant', 'a1', 'Hello, this is nanobot. How can I help you?'),
  says('user', 'u1', 'please read me the file notes dot text'),
  { type: 'tool', callId: 't1', name: 'read_file', phase: 'started', args: '{"path":"notes.txt"}' },
  {
    type: 'tool',
    callId: 't1',
    name: 'read_file',
    phase: 'ended',
    output: '1| Call the dentist on Monday.\n2| The train to Paris leaves at seven.',
    isError: false,
  },
  says(
    'assistant',
    'a2',
    'Call the dentist on Monday. The train to Paris leaves at seven. Buy bread and coffee.',
  ),
  { type: 'heard', itemId: 'a2', text: 'Call the dentist on Monday. The train to Paris' },
  says('user', 'u2', 'thanks now send me a test picture and the report'),
  {
    type: 'media',
    id: PICTURE_ID,
    segment: 0,
    kind: 'image',
    mime: 'image/png',
    name: 'test.png',
    size: 1234,
    sha256: '00',
    caption: 'Test picture',
    url: '/media/p/picture',
  },
  {
    type: 'media',
    id: FILE_ID,
    segment: 1,
    kind: 'file',
    mime: 'application/pdf',
    name: 'Quarterly report.pdf',
    size: 184_234,
    sha256: '00',
    caption: 'The report you asked for',
    url: '/media/p/file',
  },
  says('user', 'u3', 'and delete the old report please'),
  { type: 'tool', callId: 't3', name: 'delete_file', phase: 'started', args: '{"path":"report.txt"}' },
  PENDING,
  { type: 'state', state: 'asking' },
  { type: 'latency', turn: 3, latencyMs: 642, toolMs: 31 },
];

const RECORD: CallRecord = {
  version: 1,
  id: CALL_ID,
  carrier: 'webrtc',
  provider: 'command',
  identityStrength: 'authenticated',
  startedAt: new Date(NOW - 9 * MINUTE).toISOString(),
  durationMs: 60_000,
  endReason: 'agent_hangup',
  clock: 'real',
  events: [
    {
      type: 'agent_speech',
      atMs: 300,
      endMs: 3000,
      text: 'Hello. How can I help you?',
      whole: true,
      source: 'model',
      turn: 0,
    },
    { type: 'caller_speech', atMs: 4000, endMs: 6500, text: 'please read me the file notes', turn: 1 },
    {
      type: 'tool',
      atMs: 7000,
      endMs: 7400,
      name: 'read_file',
      args: '{"path":"notes.txt"}',
      output: 'Buy bread',
      isError: false,
      turn: 1,
    },
    {
      type: 'agent_speech',
      atMs: 7900,
      endMs: 12_000,
      text: 'Call the dentist on Monday.',
      whole: false,
      source: 'model',
      turn: 1,
    },
    { type: 'interruption', atMs: 12_000, source: 'model', heardMs: 4100, itemMs: 9000 },
    { type: 'caller_speech', atMs: 11_800, endMs: 14_000, text: 'delete the report', turn: 2 },
    {
      type: 'agent_speech',
      atMs: 15_000,
      endMs: 24_000,
      text: 'I need your approval.',
      whole: true,
      source: 'verbatim',
      turn: 2,
    },
    { type: 'key', atMs: 25_000 },
  ],
  eventsLeftOut: 0,
  latencies: [{ turn: 1, speechEndMs: 6500, agentStartMs: 7900, latencyMs: 1400, toolMs: 400 }],
  usage: {
    responses: 3,
    inputTokens: 0,
    inputAudioTokens: 0,
    cachedInputTokens: 0,
    outputTokens: 0,
    outputAudioTokens: 0,
    seconds: 0,
    callerSpeechMs: 1,
    agentSpeechMs: 1,
    turns: [],
  },
  counters: {},
};

const call = (id: string, more: object) => ({
  id: id.padEnd(32, '0'),
  carrier: 'webrtc',
  provider: 'command',
  identity: 'authenticated',
  startedAt: NOW - 9 * MINUTE,
  endedAt: NOW - 8 * MINUTE,
  endReason: 'agent_hangup',
  hasRecord: true,
  hasAudio: true,
  ...more,
});

export const approvalOf = (id: string, column: string, more: object = {}) => ({
  id: id.repeat(16),
  tool: 'delete_file',
  summary: 'delete file: report dot txt',
  column,
  arguments: { path: 'report.txt' },
  requester: 'owner',
  callId: CALL_ID,
  createdAt: NOW - 2 * MINUTE,
  expiresAt: NOW + 9 * MINUTE,
  decidedAt: null,
  decidedBy: null,
  decidedInput: null,
  reason: null,
  grantScope: null,
  outcome: null,
  resolution: null,
  ...more,
});

const delivery = (id: string, state: string, more: object = {}) => ({
  id,
  call: CALL_ID,
  turn: 3,
  segment: 0,
  state,
  kind: 'image',
  route: 'page',
  attempts: 1,
  why: null,
  createdAt: NOW - 3 * MINUTE,
  finishedAt: null,
  canRetry: false,
  canDrop: false,
  ...more,
});

const figures = (n: number, ms: number) => ({
  n,
  p50: ms,
  p90: ms * 1.8,
  p99: ms * 3.4,
  own: { p50: ms * 0.9, p90: ms * 1.5, p99: ms * 2 },
  calls: Math.ceil(n / 9),
});

/** A gateway that has been used for a while. */
export function fillOperator(gateway: FakeGateway, wav: Buffer): void {
  const session = { role: 'owner', has: { approvals: true, media: true, records: true } };
  const told = (path: string, value: unknown) => gateway.answer(`GET ${path}`, value);
  told('/operator/api/session', session);
  told('/operator/api/calls', {
    next: NOW - 400 * MINUTE,
    calls: [
      call('a1b2c3d4', {
        endedAt: null,
        endReason: null,
        startedAt: NOW - 63_000,
        hasRecord: false,
        hasAudio: false,
      }),
      call(CALL_ID, {}),
      call('c7', {
        carrier: 'twilio',
        provider: 'openai',
        identity: 'claimed',
        endReason: 'caller_hangup',
        hasAudio: false,
      }),
      call('d8', {
        carrier: 'twilio',
        provider: 'openai',
        identity: 'attested',
        endReason: 'connection_lost',
        hasAudio: false,
        hasRecord: false,
      }),
    ],
  });
  told(`/operator/api/calls/${CALL_ID}`, { call: call(CALL_ID, {}), turns: [], record: RECORD, audio: true });
  gateway.answer(
    `GET /operator/api/calls/${CALL_ID}/audio`,
    (_request: unknown, response: import('node:http').ServerResponse) => {
      response.writeHead(200, { 'content-type': 'audio/wav', 'content-length': wav.length });
      response.end(wav);
    },
  );
  told('/operator/api/latency', {
    since: NOW - 1440 * MINUTE,
    turns: figures(184, 610),
    byCarrier: { webrtc: figures(93, 540), twilio: figures(91, 720) },
  });
  told('/operator/api/approvals', {
    policy: { version: 'v', editWaits: true, editBroken: false },
    approvals: [
      approvalOf('a1', 'Waiting'),
      approvalOf('a2', 'Waiting', {
        tool: 'send_email',
        summary: 'send an e-mail to anna at example dot com: “The report is ready”',
        arguments: { to: 'anna@example.com', subject: 'The report is ready' },
        createdAt: NOW - 3 * MINUTE,
      }),
      approvalOf('a3', 'Done', {
        decidedBy: 'operator',
        decidedInput: 'page',
        outcome: 'Deleted report.txt.',
      }),
      approvalOf('a4', 'Denied', {
        tool: 'exec',
        summary: 'run a command',
        arguments: { command: 'rm -r build' },
      }),
      approvalOf('a5', 'Unknown', {
        tool: 'send_email',
        summary: 'send an e-mail to bob',
        arguments: { to: 'bob@example.com' },
      }),
    ],
  });
  told('/operator/api/grants', {
    grants: [
      {
        id: 'g1',
        tool: 'send_email',
        scope: 'permanent',
        scopeKey: '',
        args: '{"to":"anna@example.com"}',
        createdAt: NOW,
        createdBy: 'operator',
      },
    ],
  });
  told('/operator/api/deliveries', {
    deliveries: [
      delivery('1', 'pending', { attempts: 0, canDrop: true }),
      delivery('2', 'sent'),
      delivery('3', 'retryable', {
        route: 'mms',
        attempts: 3,
        why: 'rate_limited',
        canRetry: true,
        canDrop: true,
      }),
      delivery('4', 'dead_letter', {
        route: 'sms',
        attempts: 8,
        why: 'rejected',
        canRetry: true,
        kind: 'file',
      }),
      delivery('5', 'unknown', { route: 'mms', why: 'timeout', canRetry: true, canDrop: true }),
    ],
  });
  told('/page/links', {
    links: [{ id: '1', note: 'Anna', createdAt: NOW, expiresAt: NOW + 40 * MINUTE }],
    guests: [{ id: '2', note: 'Bob', since: NOW - 3 * MINUTE, until: NOW + 400 * MINUTE, call: CALL_ID }],
  });
  gateway.answer('POST /page/links', {
    url: 'https://voice.example.com/talk#code=abcdefghijkl',
    code: 'abcdefghijkl',
    expiresAt: NOW + 40 * MINUTE,
  });
  told('/operator/api/status', {
    ready: true,
    draining: false,
    checks: { store: 'ok' },
    version: '0.1.0',
    startedAt: NOW - 400 * MINUTE,
    calls: { live: 1, pending: 0, max: 100, page: 1 },
    configured: [
      { name: 'model', state: 'ok', text: 'the offline model' },
      { name: 'pages', state: 'ok', text: 'WebRTC and WebSocket' },
      { name: 'twilio', state: 'off', text: 'no auth token' },
      { name: 'turn', state: 'failed', text: 'does not answer' },
    ],
  });
}
