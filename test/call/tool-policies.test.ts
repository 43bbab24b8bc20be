import { beforeAll, describe, expect, it } from 'vitest';
import { loadAudio } from '../../src/audio/index.ts';
import { toolPolicyOf } from '../../src/call/tool-policy.ts';
import { type RealtimeConfigInput, realtimeConfigSchema } from '../../src/config.ts';
import { settle, startCall } from './harness.ts';

beforeAll(() => loadAudio());

const policyOf = (tools: NonNullable<RealtimeConfigInput['tools']>) =>
  toolPolicyOf(realtimeConfigSchema.parse({ tools }));

describe('the policy of a tool', () => {
  it('is by default to abort what only reads and to let the rest finish', () => {
    const policy = policyOf({});
    expect(policy('read_file')).toEqual({
      timeoutMs: 60_000,
      exclusive: false,
      onInterrupt: 'abort',
      onHangup: 'abort',
    });
    expect(policy('mcp_calendar_list_events')).toMatchObject({ onInterrupt: 'abort' });
    expect(policy('mcp_mail_send')).toMatchObject({ onInterrupt: 'finish', onHangup: 'finish' });
    expect(policy('exec')).toMatchObject({ exclusive: true });
    expect(policy('toString')).toMatchObject({ onInterrupt: 'finish' });
  });

  it('is the config’s first entry that fits, over the default', () => {
    const policy = policyOf({
      policies: [
        { tool: 'mcp_mail_send', timeoutS: 5, onHangup: 'deliver' },
        { tool: 'mcp_mail_*', exclusive: true, onInterrupt: 'abort' },
      ],
    });

    expect(policy('mcp_mail_send')).toEqual({
      timeoutMs: 5000,
      exclusive: false,
      onInterrupt: 'finish',
      onHangup: 'deliver',
    });
    expect(policy('mcp_mail_delete')).toMatchObject({ exclusive: true, onInterrupt: 'abort' });
    expect(policy('mcp_calendar_add')).toMatchObject({ exclusive: false, onInterrupt: 'finish' });
  });

  it('of a long tool is its own deadline, and its own abort', async () => {
    const test = startCall({
      config: {
        limits: { toolTimeoutS: 60, fillerAfterMs: 60_000 },
        tools: { policies: [{ tool: 'send_*', timeoutS: 2 }] },
      },
    });
    const model = test.models.current;
    model.respond();
    model.call('a', 'send_email');
    model.call('b', 'read_file');
    model.done();

    await test.advance(2300);

    expect(model.outputs.get('a')).toMatch(/did not answer in time/);
    expect(model.outputs.has('b')).toBe(false);
    expect(test.gateway.aborted).toBe(1);
  });

  it('that is exclusive has calls run in turn', async () => {
    const test = startCall({ config: { tools: { policies: [{ tool: '*', exclusive: true }] } } });
    const model = test.models.current;
    model.respond();
    model.call('a', 'send_email', '{"n":1}');
    model.call('b', 'read_file', '{"n":2}');
    model.done();
    await settle();
    expect(test.gateway.calls).toEqual(['send_email']);

    test.gateway.pending[0]!.finish('one');
    await settle();

    expect(test.gateway.calls).toEqual(['send_email', 'read_file']);
  });
});

describe('an interruption', () => {
  /** A tool under way when the caller talks over the agent and is answered; then it comes back. */
  async function interruptedTool(onInterrupt: 'abort' | 'finish' | 'deliver') {
    const test = startCall({ config: { tools: { policies: [{ tool: 'send_email', onInterrupt }] } } });
    const model = test.models.current;
    model.respond();
    model.speak(3000);
    model.call('a', 'send_email');
    await test.advance(500);
    model.callerSpeaks();
    await test.advance(400);
    model.callerSaid('u1', 'What time is it?');
    const answer = model.respond();
    await settle();
    test.gateway.pending[0]?.finish('sent');
    await settle();
    expect(model.active).toBe(answer);
    model.speak(300);
    model.endItem();
    model.done();
    await test.advance(3000);
    expect(test.violations).toEqual([]);
    return { model, test };
  }

  it('aborts', async () => {
    const { model, test } = await interruptedTool('abort');
    expect(model.outputs.get('a')).toMatch(/^Cancelled/);
    expect(test.gateway.aborted).toBe(1);
  });

  it('or lets it finish silently: the model has the result, and is not made to speak of it', async () => {
    const { model, test } = await interruptedTool('finish');
    expect(model.outputs.get('a')).toBe('sent');
    expect(model.requests).toEqual([]);
    expect(test.gateway.aborted).toBe(0);
  });

  it('or has it delivered: the model speaks of it whatever the caller has moved on to', async () => {
    const { model } = await interruptedTool('deliver');
    expect(model.outputs.get('a')).toBe('sent');
    expect(model.requests).toHaveLength(1);
  });
});

describe('a hang-up', () => {
  async function hungUpTool(onHangup: 'abort' | 'finish' | 'deliver', output: string | null = 'sent') {
    const test = startCall({
      config: { tools: { policies: [{ tool: 'send_email', onHangup, timeoutS: 20 }] } },
    });
    const model = test.models.current;
    model.respond();
    model.call('a', 'send_email', '{"to":"x"}');
    model.done();
    await test.advance(500);
    test.leg.close('caller_hangup');
    await settle();
    expect(test.ended).toBe('caller_hangup');
    if (output !== null) test.gateway.pending[0]?.finish(output);
    await settle();
    return test;
  }

  it('aborts: nothing is held any more', async () => {
    const test = await hungUpTool('abort', null);

    expect(test.gateway.aborted).toBe(1);
    expect(test.clock.timerCount).toBe(0);
    expect(test.store.turns.get('c1:0')!.tools).toMatchObject([{ isError: true }]);
  });

  it('or lets it finish: its outcome is in the turn, and nobody is told', async () => {
    const test = await hungUpTool('finish');

    expect(test.store.turns.get('c1:0')).toMatchObject({ tools: [{ output: 'sent', isError: false }] });
    expect(test.store.turns.get('c1:0')!.finalAt).not.toBeNull();
    expect(test.late).toEqual([]);
    expect(test.clock.timerCount).toBe(0);
  });

  it('or has it delivered to the caller’s session, whole and once', async () => {
    const long = 'x'.repeat(50_000);
    const test = await hungUpTool('deliver', long);

    expect(test.late).toEqual([
      { sessionKey: 'realtime:c1', chatId: 'c1', name: 'send_email', output: long, isError: false },
    ]);
    expect(test.store.turns.get('c1:0')!.tools[0]!.output).toHaveLength(50_000);
  });

  it('does not end the deadline of what it lets finish', async () => {
    const test = await hungUpTool('deliver', null);
    expect(test.clock.timerCount).toBe(1);

    test.clock.advance(20_000);
    await settle();

    expect(test.gateway.aborted).toBe(1);
    expect(test.late).toMatchObject([{ isError: true, output: expect.stringMatching(/in time/) }]);
    expect(test.clock.timerCount).toBe(0);
    test.gateway.pending[0]!.finish('too late');
    await settle();
    expect(test.late).toHaveLength(1);
  });
});

describe('a whole request for the agent behind', () => {
  const both = { config: { tools: { mode: 'both' }, limits: { fillerAfterMs: 60_000 } } } as const;

  function names(test: ReturnType<typeof startCall>): string[] {
    return test.models.current.session!.tools.map((tool) => tool.function.name);
  }

  it('is offered beside the tools, instead of them, or not at all', () => {
    expect(names(startCall())).toEqual(['read_file', 'send_email', 'stop_working', 'end_call']);
    expect(names(startCall(both))).toContain('ask_agent');
    expect(names(startCall(both))).toContain('read_file');
    expect(names(startCall({ config: { tools: { mode: 'delegate' } } }))).toEqual([
      'ask_agent',
      'stop_working',
      'end_call',
    ]);
  });

  it('is answered when the agent is done, in its own session', async () => {
    const test = startCall(both);
    const model = test.models.current;
    model.respond();
    model.call('q', 'ask_agent', '{"request":"Plan my day.","context":"It is Monday."}');
    model.done();
    await test.advance(100);
    expect(test.delegate.asked[0]).toMatchObject({
      sessionKey: 'realtime:c1',
      channel: 'realtime',
      chatId: 'c1',
      text: 'Plan my day.\n\nFrom the phone call: It is Monday.',
      call: { callId: 'c1', toolCallId: 'q', turn: expect.any(Number) },
    });

    test.delegate.asked[0]!.answer('Two meetings.');
    await settle();

    expect(model.outputs.get('q')).toBe('Two meetings.');
    expect(model.requests).toHaveLength(1);
  });

  it('is cancelled when the caller moves on', async () => {
    const test = startCall(both);
    const model = test.models.current;
    model.respond();
    model.speak(2000);
    model.call('q', 'ask_agent', '{"request":"Plan my day."}');
    await test.advance(500);

    model.callerSpeaks();
    await settle();

    expect(test.delegate.asked[0]!.signal.aborted).toBe(true);
    expect(model.outputs.get('q')).toMatch(/^Cancelled/);
  });

  it('has a deadline of its own', async () => {
    const test = startCall({
      config: { tools: { mode: 'both', askTimeoutS: 5 }, limits: { fillerAfterMs: 60_000 } },
    });
    test.models.current.respond();
    test.models.current.call('q', 'ask_agent', '{"request":"Plan my day."}');
    test.models.current.done();

    await test.advance(5300);

    expect(test.delegate.asked[0]!.signal.aborted).toBe(true);
    expect(test.models.current.outputs.get('q')).toMatch(/in time/);
  });

  it('that says nothing is refused', async () => {
    const test = startCall(both);
    test.models.current.respond();
    test.models.current.call('q', 'ask_agent', '{"request":"  "}');
    test.models.current.done();
    await settle();

    expect(test.delegate.asked).toEqual([]);
    expect(test.models.current.outputs.get('q')).toMatch(/^Error/);
  });

  it('leaves the tools themselves out of reach where only the agent may be asked', async () => {
    const test = startCall({ config: { tools: { mode: 'delegate' } } });
    test.models.current.respond();
    test.models.current.call('a', 'send_email');
    test.models.current.done();
    await settle();

    expect(test.gateway.calls).toEqual([]);
    expect(test.models.current.outputs.get('a')).toMatch(/^Error/);
  });

  it('is none where it was not asked for: the name is the host’s then', async () => {
    const test = startCall();
    test.models.current.respond();
    test.models.current.call('q', 'ask_agent', '{"request":"x"}');
    test.models.current.done();
    await settle();

    expect(test.delegate.asked).toEqual([]);
    expect(test.gateway.calls).toEqual(['ask_agent']);
  });
});
