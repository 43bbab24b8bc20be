/**
 * Random conversations: leg events, model events, tools, time and drops in any order, with the invariants of the
 * architecture checked after every step.
 */
import fc from 'fast-check';
import { frameTicker } from '../../src/audio/index.ts';
import { MAX_LEDGER_ITEMS } from '../../src/call/playback.ts';
import { muteSynthesiser, settle, startCall, type TestCall } from './harness.ts';

type Step =
  | { type: 'advance'; ms: number }
  | { type: 'callerSpeaks' }
  | { type: 'callerStops' }
  | { type: 'commit' }
  | { type: 'words'; text: string; final: boolean; late: boolean }
  | { type: 'localSpeech' }
  | { type: 'providerInterrupts' }
  | { type: 'respond' }
  | { type: 'answerRequest' }
  | { type: 'speak'; ms: number; item: number }
  | { type: 'endItem'; item: number }
  | { type: 'call'; name: ToolName; args: string }
  | { type: 'repeatCall' }
  | { type: 'done'; status: 'completed' | 'failed' | 'incomplete' }
  | { type: 'toolFinishes'; which: number; isError: boolean }
  | { type: 'toolThrows'; which: number }
  | { type: 'agentAnswers'; which: number }
  | { type: 'progress'; which: number }
  | { type: 'digit'; digit: string }
  | { type: 'collectDigits' }
  | { type: 'newLeg' }
  | { type: 'legBreaksOff' }
  | { type: 'staleLeg' }
  | { type: 'text' }
  | { type: 'say' }
  | { type: 'staleEvents' }
  | { type: 'drop' }
  | { type: 'storeBreaks' }
  | { type: 'fatal' }
  | { type: 'legCloses' };

const TOOLS = [
  'read_file',
  'send_email',
  'end_call',
  'ask_agent',
  'stop_working',
  'transfer_call',
  'send_dtmf',
] as const;
type ToolName = (typeof TOOLS)[number];

const step = (): fc.Arbitrary<Step> =>
  fc.oneof(
    {
      weight: 10,
      arbitrary: fc.record({
        type: fc.constant('advance' as const),
        ms: fc.constantFrom(20, 60, 200, 700, 2600),
      }),
    },
    { weight: 5, arbitrary: fc.constant({ type: 'callerSpeaks' } as const) },
    { weight: 4, arbitrary: fc.constant({ type: 'callerStops' } as const) },
    { weight: 4, arbitrary: fc.constant({ type: 'commit' } as const) },
    {
      weight: 4,
      arbitrary: fc.record({
        type: fc.constant('words' as const),
        text: fc.constantFrom('', 'Mhm.', 'Stop that.'),
        final: fc.boolean(),
        late: fc.boolean(),
      }),
    },
    { weight: 2, arbitrary: fc.constant({ type: 'localSpeech' } as const) },
    { weight: 1, arbitrary: fc.constant({ type: 'providerInterrupts' } as const) },
    { weight: 5, arbitrary: fc.constant({ type: 'respond' } as const) },
    { weight: 6, arbitrary: fc.constant({ type: 'answerRequest' } as const) },
    {
      weight: 10,
      arbitrary: fc.record({
        type: fc.constant('speak' as const),
        ms: fc.constantFrom(1, 13, 20, 157, 900, 4000),
        item: fc.nat(2),
      }),
    },
    { weight: 4, arbitrary: fc.record({ type: fc.constant('endItem' as const), item: fc.nat(2) }) },
    {
      weight: 6,
      arbitrary: fc.record({
        type: fc.constant('call' as const),
        name: fc.constantFrom(...TOOLS),
        args: fc.constantFrom('{}', '{"path":"a","to":"sales","digits":"1","request":"x"}', '[]', 'nonsense'),
      }),
    },
    { weight: 1, arbitrary: fc.constant({ type: 'repeatCall' } as const) },
    {
      weight: 7,
      arbitrary: fc.record({
        type: fc.constant('done' as const),
        status: fc.constantFrom('completed' as const, 'failed' as const, 'incomplete' as const),
      }),
    },
    {
      weight: 6,
      arbitrary: fc.record({
        type: fc.constant('toolFinishes' as const),
        which: fc.nat(3),
        isError: fc.boolean(),
      }),
    },
    { weight: 1, arbitrary: fc.record({ type: fc.constant('toolThrows' as const), which: fc.nat(3) }) },
    { weight: 1, arbitrary: fc.record({ type: fc.constant('agentAnswers' as const), which: fc.nat(1) }) },
    { weight: 1, arbitrary: fc.record({ type: fc.constant('progress' as const), which: fc.nat(3) }) },
    { weight: 1, arbitrary: fc.constant({ type: 'collectDigits' } as const) },
    { weight: 1, arbitrary: fc.constant({ type: 'newLeg' } as const) },
    { weight: 1, arbitrary: fc.constant({ type: 'legBreaksOff' } as const) },
    { weight: 1, arbitrary: fc.constant({ type: 'staleLeg' } as const) },
    {
      weight: 2,
      arbitrary: fc.record({ type: fc.constant('digit' as const), digit: fc.constantFrom('1', '#') }),
    },
    { weight: 1, arbitrary: fc.constant({ type: 'text' } as const) },
    { weight: 1, arbitrary: fc.constant({ type: 'say' } as const) },
    { weight: 2, arbitrary: fc.constant({ type: 'staleEvents' } as const) },
    { weight: 2, arbitrary: fc.constant({ type: 'drop' } as const) },
    { weight: 1, arbitrary: fc.constant({ type: 'storeBreaks' } as const) },
    { weight: 1, arbitrary: fc.constant({ type: 'fatal' } as const) },
    { weight: 1, arbitrary: fc.constant({ type: 'legCloses' } as const) },
  );

/** What steps that are drawn one by one seldom come to by chance. */
const SCENES = {
  answer: [
    { type: 'respond' },
    { type: 'speak', ms: 4000, item: 0 },
    { type: 'endItem', item: 0 },
    { type: 'done', status: 'completed' },
    { type: 'advance', ms: 700 },
  ],
  answerInTheMaking: [
    { type: 'respond' },
    { type: 'speak', ms: 900, item: 0 },
    { type: 'speak', ms: 900, item: 1 },
    { type: 'advance', ms: 200 },
  ],
  cough: [{ type: 'callerSpeaks' }, { type: 'advance', ms: 200 }, { type: 'callerStops' }],
  coughAndSilence: [
    { type: 'callerSpeaks' },
    { type: 'advance', ms: 60 },
    { type: 'callerStops' },
    { type: 'advance', ms: 2600 },
  ],
  localCough: [{ type: 'localSpeech' }, { type: 'localSpeech' }, { type: 'advance', ms: 2600 }],
  turn: [
    { type: 'callerSpeaks' },
    { type: 'advance', ms: 700 },
    { type: 'callerStops' },
    { type: 'commit' },
    { type: 'words', text: 'Stop that.', final: true, late: true },
  ],
  toolTurn: [
    { type: 'respond' },
    { type: 'call', name: 'send_email', args: '{"to":"x"}' },
    { type: 'call', name: 'read_file', args: '{"path":"a"}' },
    { type: 'done', status: 'completed' },
  ],
  slowTool: [
    { type: 'respond' },
    { type: 'call', name: 'send_email', args: '{}' },
    { type: 'done', status: 'completed' },
    { type: 'advance', ms: 2600 },
    { type: 'advance', ms: 200 },
  ],
  agentAsked: [
    { type: 'respond' },
    { type: 'call', name: 'ask_agent', args: '{"request":"x"}' },
    { type: 'done', status: 'completed' },
  ],
  goodbye: [
    { type: 'respond' },
    { type: 'speak', ms: 900, item: 0 },
    { type: 'endItem', item: 0 },
    { type: 'call', name: 'end_call', args: '{}' },
    { type: 'done', status: 'completed' },
    { type: 'advance', ms: 200 },
  ],
  backOnTheLine: [{ type: 'legBreaksOff' }, { type: 'advance', ms: 200 }, { type: 'newLeg' }],
} as const satisfies Record<string, readonly Step[]>;

const scene = () =>
  fc.constantFrom(...Object.values<readonly Step[]>(SCENES)).map((steps): readonly Step[] => steps);

const steps = () =>
  fc
    .array(
      fc.oneof(
        { weight: 3, arbitrary: step().map((each): readonly Step[] => [each]) },
        { weight: 2, arbitrary: scene() },
      ),
      { minLength: 3, maxLength: 14 },
    )
    .map((parts) => parts.flat());

export const conversation = fc.record({
  steps: steps(),
  interruptsItself: fc.boolean(),
  marks: fc.constantFrom('echo' as const, 'none' as const),
  policy: fc.constantFrom('immediate' as const, 'after-speech' as const, 'duck-then-confirm' as const),
  // Resampling is what takes most of the time.
  localDetector: fc.nat(5).map((n) => n === 0),
  reconnects: fc.boolean(),
  hasVoice: fc.boolean(),
  onInterrupt: fc.constantFrom('abort' as const, 'finish' as const, 'deliver' as const),
  onHangup: fc.constantFrom('abort' as const, 'finish' as const, 'deliver' as const),
  greeting: fc.constantFrom('', 'Hello.'),
  protectGreeting: fc.boolean(),
});

export type Conversation = typeof conversation extends fc.Arbitrary<infer T> ? T : never;

class Player {
  readonly #test: TestCall;
  #callCount = 0;
  #lastCall: string | null = null;
  #speaking = false;
  #turns = 0;
  #lost = false;
  #pendingDigits = 0;

  /** The model hears the caller. */
  get isSpeaking(): boolean {
    return this.#speaking;
  }

  /** Entries of keys that nobody has answered for. */
  get pendingDigits(): number {
    return this.#pendingDigits;
  }

  constructor(test: TestCall) {
    this.#test = test;
  }

  async play(step: Step): Promise<void> {
    const { models, gateway, leg, legs, call, delegate, detector } = this.#test;
    const model = models.current;
    switch (step.type) {
      case 'advance':
        return this.#test.advance(step.ms);
      case 'callerSpeaks':
        if (!this.#speaking && !model.isClosed) model.callerSpeaks();
        this.#speaking = true;
        return;
      case 'callerStops':
        if (this.#speaking && !model.isClosed) model.emit('speechStopped', {});
        this.#speaking = false;
        return;
      case 'commit':
        return void model.emit('inputCommitted', { itemId: `u${++this.#turns}` });
      case 'words':
        return void model.emit('inputTranscript', {
          itemId: `u${this.#turns + (step.late ? 0 : 1)}`,
          text: step.text,
          final: step.final,
        });
      case 'localSpeech':
        detector.isSpeech = !detector.isSpeech;
        return this.#test.advance(200);
      case 'providerInterrupts':
        return void model.emit('interrupted');
      case 'agentAnswers':
        return delegate.asked[step.which]?.answer('done');
      case 'progress':
        return gateway.pending[step.which]?.options.onProgress?.('half done');
      case 'collectDigits':
        this.#pendingDigits++;
        return void call.collectDigits({ maxDigits: 2, timeoutMs: 3000 }).then(() => this.#pendingDigits--);
      case 'newLeg':
        if (!leg.isClosed) this.#test.newLeg();
        else if (this.#lost && this.#test.ended === null) {
          this.#lost = false;
          this.#test.newLeg();
        }
        return;
      case 'legBreaksOff':
        if (!leg.isClosed) this.#lost = leg.capabilities.reconnects === true;
        return leg.close('connection_lost');
      case 'staleLeg':
        for (const old of legs.slice(0, -1)) {
          old.emit('audio', new Uint8Array(160));
          old.emit('dtmf', '9');
          old.emit('played', 'm1');
          old.emit('closed', 'caller_hangup');
        }
        return;
      case 'respond':
        if (model.active === null && !model.isClosed) model.respond();
        return;
      case 'answerRequest':
        if (!model.isClosed) model.answerRequest();
        return;
      case 'speak':
        return model.speak(step.ms, `${model.active}_${step.item}`);
      case 'endItem':
        return model.endItem(`${model.active}_${step.item}`);
      case 'call':
        if (model.active === null) return;
        this.#lastCall = `call${++this.#callCount}`;
        return model.call(this.#lastCall, step.name, step.args);
      case 'repeatCall':
        if (this.#lastCall === null || model.active === null) return;
        return void model.emit('toolCall', {
          responseId: model.active,
          callId: this.#lastCall,
          name: 'send_email',
          args: '{}',
        });
      case 'done':
        return model.done(step.status);
      case 'toolFinishes':
        return gateway.pending[step.which]?.finish('result', step.isError);
      case 'toolThrows':
        return gateway.pending[step.which]?.fail(new Error('gone'));
      case 'digit':
        return void leg.emit('dtmf', step.digit);
      case 'text':
        return void leg.emit('text', 'typed');
      case 'say':
        return void call.speakVerbatim('One moment.');
      case 'staleEvents':
        // A session that was replaced must be deaf and dumb.
        for (const old of models.sessions.slice(0, -1)) {
          old.emit('outputAudio', { responseId: 'stale', itemId: 'stale', audio: new Uint8Array(1600) });
          old.emit('toolCall', { responseId: 'stale', callId: 'stale', name: 'send_email', args: '{}' });
          old.emit('speechStarted', {});
          old.emit('closed', { code: 1006, reason: '' });
        }
        return;
      case 'drop':
        this.#speaking = false;
        return model.drop();
      case 'storeBreaks':
        this.#test.store.isBroken = !this.#test.store.isBroken;
        return;
      case 'fatal':
        return void model.emit('error', { severity: 'fatal', code: 'insufficient_quota', message: '' });
      case 'legCloses':
        return leg.close('caller_hangup');
      default:
        return step satisfies never;
    }
  }
}

/** Order within what one step did: whenever a truncate or a cancel is there, what must precede it precedes it. */
function checkOrder(ops: readonly string[], isOneEvent: boolean): void {
  if (
    isOneEvent &&
    ops.includes('cancel') &&
    ops.includes('clear') &&
    ops.indexOf('cancel') < ops.indexOf('clear')
  ) {
    throw new Error(`cancelled before the leg was cleared: ${ops.join()}`);
  }
  if (isOneEvent && ops.filter((op) => op === 'clear').length > 1)
    throw new Error(`cleared twice: ${ops.join()}`);
  const isTakeBack = (op: string) => op.startsWith('truncate') || op.startsWith('delete');
  const groups: string[][] = [[]];
  for (const op of ops) {
    if (op === 'clear') groups.push([]);
    groups.at(-1)!.push(op);
  }
  const [before, ...rest] = groups;
  if (before!.some(isTakeBack)) throw new Error(`something was taken back without a clear: ${ops.join()}`);
  for (const group of rest) {
    const cancel = group.indexOf('cancel');
    const firstTakeBack = group.findIndex(isTakeBack);
    if (cancel >= 0 && firstTakeBack >= 0 && cancel > firstTakeBack)
      throw new Error(`truncated before the cancel: ${ops.join()}`);
  }
}

function checkInvariants(test: TestCall, opsOfStep: readonly string[], isOneEvent: boolean): void {
  const { models, violations, gateway, leg, late, call } = test;
  if (violations.length > 0) throw new Error(`the model would have refused: ${violations.join('; ')}`);
  // Without a leg there is nothing to clear.
  if (call.isAttached) checkOrder(opsOfStep, isOneEvent);
  if (gateway.calls.includes('stale') || models.current.outputs.has('stale'))
    throw new Error('a stale call was run');
  if (leg.unplayedMs > leg.capabilities.maxLeadMs) throw new Error(`${leg.unplayedMs} ms were sent ahead`);
  for (const [itemId, item] of models.current.items) {
    if (item.truncated === null) continue;
    const heard = test.heardMs(itemId);
    // What no mark confirmed is played again on a new leg.
    const tolerance = 220 * test.legs.length;
    if (Math.abs(item.truncated - Math.min(heard, item.ms)) > tolerance) {
      throw new Error(
        `${itemId} truncated at ${item.truncated}, but ${heard} ms came out of the loudspeaker`,
      );
    }
  }
  for (const each of late)
    if (each.name !== 'send_email' && each.name !== 'ask_agent') throw new Error(`${each.name} came late`);
  if (!call.isAttached && test.ended === null && opsOfStep.includes('send'))
    throw new Error('something was sent to nobody');
  if (models.current.items.size > MAX_LEDGER_ITEMS)
    throw new Error('the test made more items than the ledger holds');
}

/** Plays one conversation to its end; throws on the first broken invariant. */
export async function playConversation(input: Conversation): Promise<void> {
  const test = startCall({
    config: {
      greeting: input.greeting,
      interruption: {
        policy: input.policy,
        protectGreeting: input.protectGreeting,
        localDetector: input.localDetector,
        falseAlarmWaitMs: 1500,
      },
      limits: { toolTimeoutS: 30, silenceTimeoutS: 30, reconnectGraceS: 2 },
      tools: {
        mode: 'both',
        policies: [{ tool: 'send_*', onInterrupt: input.onInterrupt, onHangup: input.onHangup }],
      },
      transfers: [{ name: 'sales', target: 'sip:sales@example.com' }],
    },
    model: { interruptsItself: input.interruptsItself },
    leg: { marks: input.marks, reconnects: input.reconnects, transfer: true, dtmfOut: true },
    ...(input.hasVoice ? {} : { parts: { synthesiser: muteSynthesiser } }),
  });
  const player = new Player(test);
  for (const step of input.steps) {
    const before = test.ops.length;
    await player.play(step);
    await settle();
    checkInvariants(test, test.ops.slice(before), step.type !== 'advance');
  }
  await finish(test, player);
}

/** Lets everything run out: each open call must have had its one output, then the end must free everything. */
async function finish(test: TestCall, player: Player): Promise<void> {
  const { gateway, models, clock, delegate } = test;
  const answerAll = () => {
    for (const asked of delegate.asked) asked.answer('done');
    for (const tool of [...gateway.pending]) tool.finish('result');
  };
  // What waits for the end of a sentence may wait as long as its deadline.
  const mayGoOn = (round: number) => round < (models.current.openCalls.size > 0 ? 60 : 4);
  for (let round = 0; mayGoOn(round) && test.ended === null; round++) {
    models.current.done();
    // Whoever waits for a quiet moment gets one: what was asked for is answered, with nothing.
    for (; models.current.requests.length > 0; await settle()) {
      models.current.answerRequest();
      models.current.done();
    }
    answerAll();
    await settle();
    await test.advance(600);
    checkInvariants(test, [], false);
  }
  const { leg } = test;
  if (test.ended === null && !leg.isClosed && models.current.openCalls.size > 0) {
    throw new Error(`calls without an output: ${[...models.current.openCalls].join()}`);
  }
  if (test.ended === null && !player.isSpeaking && !test.detector.isSpeech && leg.gain !== 1)
    throw new Error('the agent was left turned down');
  leg.close('caller_hangup');
  // A leg that broke off is waited for no longer than the grace.
  clock.advance(2200);
  await settle();
  answerAll();
  await settle();
  clock.advance(100);
  await settle();
  await settle();
  if (test.ended === null) throw new Error('the call did not end');
  if (clock.timerCount > 0) throw new Error(`${clock.timerCount} timers are left`);
  if (frameTicker(clock).subscriberCount > 0) throw new Error('the ticker still runs');
  if (player.pendingDigits > 0) throw new Error('somebody still waits for keys');
  if (test.legs.some((each) => each.listenerCount() > 0)) throw new Error('listeners are left on a leg');
  for (const session of models.sessions) {
    if (session.listenerCount() > 0) throw new Error('listeners are left on a model session');
    if (!session.isClosed) throw new Error('a model session is left open');
  }
}

/** New on every run, and printed with the test's name; `PROPERTY_SEED` plays one again. */
export const SEED = Number(process.env.PROPERTY_SEED ?? Date.now() & 0x7fff_ffff);
