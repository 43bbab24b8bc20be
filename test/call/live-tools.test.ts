import { afterEach, beforeEach, expect, it, type MockInstance, vi } from 'vitest';
import { FakeGateway } from '../../src/testing/index.ts';
import { StrictModel, settle, startCall } from './harness.ts';

let update: MockInstance<StrictModel['updateSession']>;
beforeEach(() => {
  update = vi.spyOn(StrictModel.prototype, 'updateSession');
});
afterEach(() => {
  vi.restoreAllMocks();
});

const toldTools = () =>
  update.mock.calls.map(([changes]) => changes?.tools?.map((each) => each.function.name) ?? []);

async function start() {
  const test = startCall({ parts: { gateway: new FakeGateway({ tools: { mcp_home_lights: 'on' } }) } });
  await settle();
  return test;
}

it('gives the running session the host’s tools when they are others', async () => {
  const test = await start();

  test.call.refreshTools();

  expect(toldTools()).toEqual([expect.arrayContaining(['mcp_home_lights'])]);
});

it('gives the next session the new tools when they changed while there was none', async () => {
  const test = await start();
  test.models.current.emit('closed', { code: 1006, reason: '' });

  test.call.refreshTools();
  expect(update).not.toHaveBeenCalled();
  await test.advance(1000);

  expect(test.models.sessions).toHaveLength(2);
  expect(toldTools()).toEqual([expect.arrayContaining(['mcp_home_lights'])]);
});
