/** What waits for a person outlives the worker that asked: the others take it up from the store. */

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { encodeG711 } from '../../src/audio/index.ts';
import { realClock } from '../../src/clock.ts';
import { call, FakeCarrier, FakeModel, tone } from '../../src/testing/index.ts';
import { AUTH_TOKEN, callFields, offerOf, postSigned } from '../server/rig.ts';
import { GatewayProcess, TestHome } from './gateway-process.ts';
import { childrenOf, eventually } from './worker-processes.ts';

const TEXT = 'Written once.';
const model = new FakeModel().onTurn(({ trigger, toolOutputs }) =>
  trigger === 'speech' && toolOutputs.length === 0
    ? [call('write_file', { path: 'note.txt', content: TEXT })]
    : [],
);
let home: TestHome;
let gateway: GatewayProcess;
let url = '';
let bearer: Record<string, string> = {};

beforeAll(async () => {
  const baseUrl = await model.listen();
  home = new TestHome({
    server: { port: 0 },
    model: { provider: 'openai-compatible', baseUrl, apiKey: 'k' },
    carriers: { twilio: { authToken: AUTH_TOKEN } },
    approvals: { toolGate: { requireApproval: ['write_file'], unsafe: true } },
    greeting: '',
  });
  gateway = new GatewayProcess(home, {}, ['--workers', '2']);
  url = await gateway.listening();
  bearer = { authorization: `Bearer ${/shown this once[^\n]*\n\s+(\S+)/.exec(gateway.stdout)?.[1]}` };
}, 120_000);

afterAll(async () => {
  gateway?.child.kill('SIGKILL');
  await model.close();
  home?.remove();
});

interface Card {
  readonly id: string;
  readonly status: string;
}

async function cards(): Promise<Card[]> {
  const answer = await fetch(`${url}/operator/api/approvals?all`, { headers: bearer });
  return ((await answer.json()) as { approvals: Card[] }).approvals;
}

describe('a request for approval', { timeout: 120_000 }, () => {
  it('is decided and run, once, after the worker that asked is gone', async () => {
    const callSid = 'CA01';
    const answer = await postSigned(`${url}/twilio/voice`, callFields({ CallSid: callSid }));
    const { url: stream, token } = offerOf(await answer.text());
    const carrier = await FakeCarrier.connect(stream, {
      clock: realClock,
      callSid,
      customParameters: { token },
    });
    carrier.start();
    await carrier.speak(encodeG711(tone(1000, 300, 8000, 0.5).samples, 'pcmu'));
    await eventually('it waits', async () => (await cards())[0]?.status === 'pending');

    const [first, second] = childrenOf(gateway.child.pid ?? 0);
    // The token's first character is the worker's.
    process.kill((token.startsWith('A') ? first : second) ?? 0, 'SIGKILL');
    await carrier.whenClosed();
    const [card] = await cards();
    expect(existsSync(join(home.workspace, 'note.txt'))).toBe(false);
    const decided = await fetch(`${url}/operator/api/approvals/${card?.id}/decision`, {
      method: 'POST',
      headers: { ...bearer, 'content-type': 'application/json' },
      body: '{"decision":"approve"}',
    });
    expect(decided.status).toBe(200);
    await eventually('it has run', async () => (await cards())[0]?.status === 'executed');
    expect(readFileSync(join(home.workspace, 'note.txt'), 'utf8')).toBe(TEXT);
    const one = await fetch(`${url}/operator/api/approvals/${card?.id}`, { headers: bearer });
    const { events } = (await one.json()) as { events: { kind: string }[] };
    expect(events.filter(({ kind }) => kind === 'claimed')).toHaveLength(1);
  });
});
