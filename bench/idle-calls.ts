/**
 * Memory of one idle call: callers on the line who say nothing, a realtime model that waits, beside the same gateway
 * without calls. Carriers' and the model's doubles run in this process, the gateway in its own.
 *
 *   node bench/idle-calls.ts [calls]
 *
 * @module
 */

import { realClock } from '../src/clock.ts';
import { FakeCarrier, FakeModel } from '../src/testing/index.ts';
import { startGateway } from './gateway.ts';

const calls = Number(process.argv[2] ?? 50);
const AUTH_TOKEN = 'bench-token';

const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

const model = new FakeModel();
const baseUrl = await model.listen();
const gateway = await startGateway(
  {
    model: { provider: 'openai-compatible', baseUrl },
    carriers: { twilio: {} },
    greeting: '',
    limits: { silenceTimeoutS: 3600, maxCalls: calls + 10 },
  },
  { env: { TWILIO_AUTH_TOKEN: AUTH_TOKEN, OPENAI_API_KEY: 'bench' } },
);

let sid = 0;

async function dial(count: number): Promise<FakeCarrier[]> {
  const carriers: FakeCarrier[] = [];
  for (let i = 0; i < count; i++) {
    const { carrier, answer } = await FakeCarrier.dial(
      { webhookUrl: `${gateway.url}/twilio/voice`, authToken: AUTH_TOKEN },
      { clock: realClock, callSid: `CA${String(++sid).padStart(32, '0')}` },
    );
    if (!carrier) throw new Error(`The call was not taken: HTTP ${answer.status}`);
    carrier.start();
    carriers.push(carrier);
  }
  await wait(3000);
  return carriers;
}

// The first calls load code and warm caches; they are part of the floor.
const first = await dial(5);
const before = gateway.residentBytes();
const rest = await dial(calls);
const after = gateway.residentBytes();
console.log(`gateway with 5 calls   ${(before / 1024 / 1024).toFixed(1)} MiB resident`);
console.log(`${calls} more, idle          ${(after / 1024 / 1024).toFixed(1)} MiB`);
console.log(`one idle call          ${((after - before) / calls / 1024).toFixed(0)} KiB`);
for (const carrier of [...first, ...rest]) carrier.hangup();
await wait(500);
await gateway.stop();
await model.close();
