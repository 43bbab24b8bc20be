/**
 * Everything around a call, as strict doubles on a clock that moves by hand: synchronous, so that tens of thousands of
 * random conversations run in seconds.
 */
import { type AudioData, audioByteLength, PCMU_8K } from '../../src/audio/index.ts';
import { Call } from '../../src/call/call.ts';
import type { CallParts, LateResult } from '../../src/call/options.ts';
import type { CallProgress } from '../../src/call/progress.ts';
import { loadPrompts } from '../../src/call/prompts.ts';
import { toolPolicyOf } from '../../src/call/tool-policy.ts';
import type { Clock, ClockTimer } from '../../src/clock.ts';
import { type RealtimeConfigInput, realtimeConfigSchema } from '../../src/config.ts';
import { Emitter } from '../../src/emitter.ts';
import type {
  AgentAnswer,
  AgentDelegate,
  AgentRequest,
  ExecuteToolOptions,
  ToolDefinition,
  ToolGateway,
  ToolResult,
} from '../../src/gateway/index.ts';
import type {
  CallLeg,
  CallLegEvents,
  LegCapabilities,
  LegCloseReason,
  ShowEvent,
} from '../../src/leg/index.ts';
import type {
  HistoryItem,
  ModelCapabilities,
  ModelSessionConfig,
  ModelUsage,
  RealtimeModel,
  RealtimeModelEvents,
  RealtimeModelFactory,
  ResponseRequest,
  ResponseStatus,
} from '../../src/model/index.ts';
import { type CallRecord, silentLogger } from '../../src/observe/index.ts';
import type { Synthesiser, VoiceActivityDetector } from '../../src/speech/index.ts';
import type { CallEndReason, CallRow, Store, TurnOutcome, TurnRow } from '../../src/store/index.ts';

interface ManualTimer {
  at: number;
  callback: () => void;
}

/** Time that moves by hand, synchronously. */
export class ManualClock implements Clock {
  readonly kind = 'virtual';
  #now = 0;
  readonly #timers = new Set<ManualTimer>();

  get timerCount(): number {
    return this.#timers.size;
  }

  now(): number {
    return this.#now;
  }

  wallNow(): number {
    return 1_780_000_000_000 + this.#now;
  }

  setTimeout(callback: () => void, delayMs: number): ClockTimer {
    const timer = { at: this.#now + Math.max(0, delayMs), callback };
    this.#timers.add(timer);
    return { clear: () => this.#timers.delete(timer) };
  }

  track<T>(work: Promise<T>): Promise<T> {
    return work;
  }

  advance(ms: number): void {
    const until = this.#now + ms;
    for (;;) {
      let next: ManualTimer | null = null;
      for (const timer of this.#timers) if (timer.at <= until && (!next || timer.at < next.at)) next = timer;
      if (!next) break;
      this.#timers.delete(next);
      this.#now = Math.max(this.#now, next.at);
      next.callback();
    }
    this.#now = until;
  }
}

/** Lets settled promises run their reactions, as long a chain of them as there is in a call. */
export async function settle(): Promise<void> {
  for (let i = 0; i < 30; i++) await null;
}

export const LEG_CAPABILITIES: LegCapabilities = {
  carrier: 'test',
  input: PCMU_8K,
  output: PCMU_8K,
  pacing: 'platform',
  frameBytes: 160,
  maxLeadMs: 200,
  marks: 'echo',
  marksOnClear: 'drop',
  clear: 'silent',
  gain: true,
  screen: true,
  dtmfIn: true,
  dtmfOut: false,
  transfer: false,
};

/** A platform that plays what it buffered in real time and returns marks. What it did is in `ops`. */
export class TestLeg extends Emitter<CallLegEvents> implements CallLeg {
  readonly capabilities: LegCapabilities;
  readonly ops: string[];
  readonly #clock: Clock;
  readonly #marks: { name: string; timer: ClockTimer }[] = [];
  readonly shown: ShowEvent[] = [];
  #playEnd = 0;
  /** Of each item, ms that really came out of the loudspeaker before the last clear. */
  readonly playedMs = new Map<string, number>();
  readonly #frames: { itemId: string; from: number; to: number }[] = [];
  isClosed = false;
  gain = 1;

  constructor(clock: Clock, ops: string[], capabilities: LegCapabilities = LEG_CAPABILITIES) {
    super();
    this.#clock = clock;
    this.ops = ops;
    this.capabilities = capabilities;
  }

  /** Audio on its way that has not come out. */
  get unplayedMs(): number {
    return Math.max(0, this.#playEnd - this.#clock.now());
  }

  send(itemId: string, audio: AudioData): void {
    if (this.isClosed) throw new Error('a send to a closed leg');
    const bytes = audioByteLength(audio);
    if (bytes === 0 || bytes % this.capabilities.frameBytes !== 0)
      throw new Error(`a send of ${bytes} bytes`);
    const from = Math.max(this.#playEnd, this.#clock.now());
    this.#playEnd = from + bytes / 8;
    const last = this.#frames.at(-1);
    if (last && last.itemId === itemId && last.to === from) last.to = this.#playEnd;
    else this.#frames.push({ itemId, from, to: this.#playEnd });
    if (this.#frames.length > 64) this.#count(this.#frames.splice(0, 32), Number.POSITIVE_INFINITY);
    this.ops.push('send');
  }

  mark(name: string): void {
    if (this.capabilities.marks === 'none') throw new Error('this leg has no marks');
    const timer = this.#clock.setTimeout(() => {
      this.#marks.splice(
        this.#marks.findIndex((mark) => mark.name === name),
        1,
      );
      this.emit('played', name);
    }, this.#playEnd - this.#clock.now());
    this.#marks.push({ name, timer });
  }

  clear(): void {
    this.ops.push('clear');
    this.#count(this.#frames.splice(0), this.#clock.now());
    this.#playEnd = this.#clock.now();
    for (const { timer } of this.#marks.splice(0)) timer.clear();
  }

  heardMs(itemId: string): number {
    const now = this.#clock.now();
    let ms = this.playedMs.get(itemId) ?? 0;
    for (const frame of this.#frames)
      if (frame.itemId === itemId) ms += Math.max(0, Math.min(now, frame.to) - frame.from);
    return ms;
  }

  setGain(level: number): void {
    this.gain = level;
  }

  readonly sentDigits: string[] = [];
  readonly transfers: string[] = [];
  transferFails = false;

  sendDtmf(digits: string): Promise<void> {
    this.sentDigits.push(digits);
    return Promise.resolve();
  }

  transfer(target: string): Promise<void> {
    if (this.transferFails) return Promise.reject(new Error('busy'));
    this.transfers.push(target);
    return Promise.resolve();
  }

  show(event: ShowEvent): void {
    this.shown.push(event);
  }

  hangup(): Promise<void> {
    this.close('local_hangup');
    return Promise.resolve();
  }

  close(reason: LegCloseReason): void {
    if (this.isClosed) return;
    this.isClosed = true;
    for (const { timer } of this.#marks.splice(0)) timer.clear();
    this.emit('closed', reason);
  }

  #count(frames: { itemId: string; from: number; to: number }[], until: number): void {
    for (const { itemId, from, to } of frames) {
      this.playedMs.set(itemId, (this.playedMs.get(itemId) ?? 0) + Math.max(0, Math.min(until, to) - from));
    }
  }
}

export const MODEL_CAPABILITIES: ModelCapabilities = {
  provider: 'test',
  inputFormats: [PCMU_8K],
  outputFormats: [PCMU_8K],
  canTruncate: true,
  canCancel: true,
  style: 'turns',
  interruptsItself: false,
  maxSessionMs: null,
};

/** A model that refuses what the real one refuses; a refusal that we should have known of is a violation. */
export class StrictModel extends Emitter<RealtimeModelEvents> implements RealtimeModel {
  readonly capabilities: ModelCapabilities;
  readonly ops: string[];
  readonly violations: string[];
  readonly requests: ResponseRequest[] = [];
  readonly outputs = new Map<string, string>();
  readonly context: string[] = [];
  readonly restored: HistoryItem[] = [];
  readonly items = new Map<string, { ms: number; truncated: number | null; deleted: boolean }>();
  readonly openCalls = new Set<string>();
  readonly #endedItems = new Set<string>();
  session: ModelSessionConfig | null = null;
  active: string | null = null;
  inputBytes = 0;
  isClosed = false;
  #count = 0;

  /** Goes before the session's ids, so that no two sessions have one in common. */
  readonly #prefix: string;

  constructor(ops: string[], violations: string[], capabilities: ModelCapabilities, prefix = '') {
    super();
    this.#prefix = prefix;
    this.ops = ops;
    this.violations = violations;
    this.capabilities = capabilities;
  }

  connect(session: ModelSessionConfig): Promise<void> {
    this.session = session;
    this.emit('ready', { inputFormat: session.inputFormat, outputFormat: session.outputFormat });
    return Promise.resolve();
  }

  updateSession(_changes: Parameters<RealtimeModel['updateSession']>[0]): void {}

  restore(history: readonly HistoryItem[]): void {
    this.restored.push(...history);
  }

  appendAudio(audio: AudioData): void {
    this.inputBytes += audioByteLength(audio);
  }

  addContext(_role: 'user' | 'system', text: string): void {
    this.context.push(text);
  }

  sendToolOutput(callId: string, output: string): void {
    this.ops.push(`output:${callId}`);
    if (!this.openCalls.has(callId)) this.violations.push(`output for unknown or answered call ${callId}`);
    this.openCalls.delete(callId);
    this.outputs.set(callId, output);
  }

  requestResponse(request: ResponseRequest): void {
    this.ops.push('request');
    this.requests.push(request);
    if (this.active === null) return;
    const code = 'conversation_already_has_active_response';
    this.requests.pop();
    this.emit('error', { severity: 'benign', code, message: '', requestId: request.requestId });
  }

  cancelResponse(): void {
    this.ops.push('cancel');
    if (this.active === null)
      this.emit('error', { severity: 'benign', code: 'response_cancel_not_active', message: '' });
    else this.done('cancelled');
  }

  truncate(itemId: string, heardMs: number): void {
    this.ops.push(`truncate:${itemId}`);
    const item = this.items.get(itemId);
    if (!item || item.deleted) this.violations.push(`truncate of unknown item ${itemId}`);
    else if (item.truncated !== null) this.violations.push(`second truncate of ${itemId}`);
    else if (!Number.isInteger(heardMs) || heardMs < 0 || heardMs > item.ms) {
      this.violations.push(`truncate of ${itemId} at ${heardMs} of ${item.ms}`);
    } else item.truncated = heardMs;
  }

  deleteItem(itemId: string): void {
    this.ops.push(`delete:${itemId}`);
    const item = this.items.get(itemId);
    if (!item || item.deleted) this.violations.push(`delete of unknown item ${itemId}`);
    else item.deleted = true;
  }

  close(): void {
    this.isClosed = true;
  }

  // What the model does by itself.

  respond(requestId?: string): string {
    const responseId = `${this.#prefix}r${++this.#count}`;
    this.active = responseId;
    this.emit('responseStarted', requestId === undefined ? { responseId } : { responseId, requestId });
    return responseId;
  }

  /** Starts the oldest request that waits, if any. */
  answerRequest(): string | null {
    const request = this.requests.shift();
    return request && this.active === null ? this.respond(request.requestId) : null;
  }

  speak(ms: number, itemId = `${this.active}_i`): void {
    const responseId = this.active;
    // As the real one: nothing is added to an item that is done.
    if (responseId === null || this.#endedItems.has(itemId)) return;
    const item = this.items.get(itemId) ?? { ms: 0, truncated: null, deleted: false };
    item.ms += ms;
    this.items.set(itemId, item);
    this.emit('outputTranscript', {
      responseId,
      itemId,
      text: 'word '.repeat(Math.ceil(ms / 300)),
      final: false,
    });
    this.emit('outputAudio', { responseId, itemId, audio: new Uint8Array(ms * 8).fill(0x20) });
  }

  endItem(itemId = `${this.active}_i`): void {
    this.#endedItems.add(itemId);
    if (this.active !== null) this.emit('outputAudioDone', { responseId: this.active, itemId });
  }

  call(callId: string, name = 'read_file', args = '{}'): void {
    if (this.active === null) return;
    this.openCalls.add(callId);
    this.emit('toolCall', { responseId: this.active, callId, name, args });
  }

  done(status: ResponseStatus = 'completed', usage?: ModelUsage): void {
    const responseId = this.active;
    if (responseId === null) return;
    this.active = null;
    this.emit('responseDone', { responseId, status, ...(usage ? { usage } : {}) });
  }

  /** The caller's turn is complete, and its words are known. */
  callerSaid(itemId: string, text: string): void {
    this.emit('speechStopped', {});
    this.emit('inputCommitted', { itemId });
    this.emit('inputTranscript', { itemId, text, final: true });
  }

  callerSpeaks(): void {
    if (this.capabilities.interruptsItself && this.active !== null) {
      const active = this.active;
      this.active = null;
      this.emit('speechStarted', {});
      this.emit('responseDone', { responseId: active, status: 'cancelled' });
    } else this.emit('speechStarted', {});
  }

  drop(): void {
    this.active = null;
    this.emit('closed', { code: 1006, reason: '' });
  }
}

export class TestModels implements RealtimeModelFactory {
  readonly capabilities: ModelCapabilities;
  readonly description = 'a double';
  readonly sessions: StrictModel[] = [];
  readonly ops: string[];
  readonly violations: string[];

  constructor(ops: string[], violations: string[], capabilities: Partial<ModelCapabilities> = {}) {
    this.ops = ops;
    this.violations = violations;
    this.capabilities = { ...MODEL_CAPABILITIES, ...capabilities };
  }

  get current(): StrictModel {
    return this.sessions.at(-1)!;
  }

  create(): RealtimeModel {
    const prefix = this.sessions.length === 0 ? '' : `s${this.sessions.length + 1}`;
    const model = new StrictModel(this.ops, this.violations, this.capabilities, prefix);
    this.sessions.push(model);
    return model;
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

interface PendingTool {
  name: string;
  args: unknown;
  options: ExecuteToolOptions;
  finish(content: string, isError?: boolean): void;
  fail(error: Error): void;
}

/** Tools that end when the test says so. */
export class TestGateway implements ToolGateway {
  readonly pending: PendingTool[] = [];
  readonly calls: string[] = [];
  aborted = 0;

  getToolDefinitions(): ToolDefinition[] {
    const parameters = { type: 'object', properties: {} };
    return ['read_file', 'send_email'].map((name) => ({
      type: 'function',
      function: { name, description: name, parameters },
    }));
  }

  executeTool(
    _sessionKey: string,
    name: string,
    args: unknown,
    options: ExecuteToolOptions,
  ): Promise<ToolResult> {
    this.calls.push(name);
    options.signal?.addEventListener('abort', () => this.aborted++);
    return new Promise((resolve, reject) => {
      const tool: PendingTool = {
        name,
        args,
        options,
        finish: (content, isError = false) => {
          this.pending.splice(this.pending.indexOf(tool), 1);
          resolve({ content, isError });
        },
        fail: (error) => {
          this.pending.splice(this.pending.indexOf(tool), 1);
          reject(error);
        },
      };
      this.pending.push(tool);
    });
  }
}

export class MemoryStore implements Store {
  readonly calls = new Map<string, CallRow>();
  readonly turns = new Map<string, TurnRow>();
  isBroken = false;

  #check(): void {
    if (this.isBroken) throw new Error('disk full');
  }

  async beginCall(call: Omit<CallRow, 'endedAt' | 'endReason'>): Promise<void> {
    this.#check();
    this.calls.set(call.id, { ...call, endedAt: null, endReason: null });
  }

  async endCall(id: string, endedAt: number, endReason: CallEndReason): Promise<boolean> {
    this.#check();
    const call = this.calls.get(id);
    if (!call || call.endedAt !== null) return false;
    this.calls.set(id, { ...call, endedAt, endReason });
    return true;
  }

  async getCall(id: string): Promise<CallRow | null> {
    return this.calls.get(id) ?? null;
  }

  async listCalls(): Promise<CallRow[]> {
    return [...this.calls.values()];
  }

  async closeStaleCalls(): Promise<number> {
    return 0;
  }

  async openTurn(turn: {
    callId: string;
    turn: number;
    sessionKey: string;
    startedAt: number;
  }): Promise<void> {
    this.#check();
    const key = `${turn.callId}:${turn.turn}`;
    if (!this.turns.has(key))
      this.turns.set(key, { ...turn, userText: null, assistantText: null, tools: [], finalAt: null });
  }

  async commitTurn(callId: string, turn: number, outcome: TurnOutcome): Promise<void> {
    this.#check();
    const key = `${callId}:${turn}`;
    const row = this.turns.get(key);
    if (!row) throw new Error(`no turn ${turn}`);
    this.turns.set(key, {
      ...row,
      userText: outcome.userText ?? row.userText,
      assistantText: outcome.assistantText ?? row.assistantText,
      tools: [...row.tools, ...(outcome.tools ?? [])],
      finalAt: outcome.finalAt ?? row.finalAt,
    });
  }

  async listTurns(sessionKey: string, limit: number): Promise<TurnRow[]> {
    return [...this.turns.values()].filter((turn) => turn.sessionKey === sessionKey).slice(-limit);
  }

  async listUnprojectedTurns(): Promise<TurnRow[]> {
    return [];
  }

  async markProjected(): Promise<void> {}

  async ping(): Promise<void> {}

  async close(): Promise<void> {}
}

/** Speech is what the test says it is; takes a window of 32 ms at a time. */
export class TestDetector implements VoiceActivityDetector {
  isSpeech = false;

  process(): number {
    return this.isSpeech ? 1 : 0;
  }

  reset(): void {}
}

/** A text agent that answers when the test says so. */
export class TestDelegate implements AgentDelegate {
  readonly asked: (AgentRequest & { answer: (text: string, isError?: boolean) => void })[] = [];

  ask(request: AgentRequest): Promise<AgentAnswer> {
    return new Promise((resolve) => {
      const answer = (text: string, isError = false) => resolve({ text, isError });
      this.asked.push({ ...request, answer });
    });
  }
}

/** Has no voice. */
export const muteSynthesiser: Synthesiser = {
  synthesise: () => Promise.reject(new Error('no voice')),
  close: () => Promise.resolve(),
};

/** Says everything as 400 ms of tone. */
export const testSynthesiser: Synthesiser = {
  synthesise: () => Promise.resolve({ samples: new Int16Array(6400).fill(3000), sampleRate: 16000 }),
  close: () => Promise.resolve(),
};

export interface TestCall {
  readonly clock: ManualClock;
  readonly call: Call;
  /** The leg of now; `newLeg` replaces it. */
  leg: TestLeg;
  readonly legs: TestLeg[];
  readonly models: TestModels;
  readonly gateway: TestGateway;
  readonly store: MemoryStore;
  readonly ops: string[];
  readonly violations: string[];
  ended: CallEndReason | null;
  record: CallRecord | null;
  readonly progress: CallProgress[];
  readonly late: LateResult[];
  readonly delegate: TestDelegate;
  readonly detector: TestDetector;
  /** Of an item, ms that came out of the loudspeaker, over all legs. */
  heardMs(itemId: string): number;
  /** The same call comes in on another leg. */
  newLeg(): TestLeg;
  /** Moves time in steps of a frame, with the caller's silence on the line and promises settled. */
  advance(ms: number): Promise<void>;
}

export interface TestCallOptions {
  readonly config?: RealtimeConfigInput;
  readonly model?: Partial<ModelCapabilities>;
  readonly leg?: Partial<LegCapabilities>;
  readonly parts?: Partial<CallParts>;
  readonly attach?: boolean;
  readonly clock?: ManualClock;
}

const prompts = loadPrompts('en-us');
const SILENT_FRAME = new Uint8Array(160).fill(0xff);

export function startCall(options: TestCallOptions = {}): TestCall {
  const clock = options.clock ?? new ManualClock();
  const ops: string[] = [];
  const violations: string[] = [];
  const models = new TestModels(ops, violations, options.model);
  const gateway = new TestGateway();
  const store = new MemoryStore();
  const config = realtimeConfigSchema.parse({ greeting: '', ...options.config });
  const legCapabilities = { ...LEG_CAPABILITIES, ...options.leg };
  const leg = new TestLeg(clock, ops, legCapabilities);
  const delegate = new TestDelegate();
  const detector = new TestDetector();
  const late: LateResult[] = [];
  const call = new Call({
    id: 'c1',
    chatId: 'c1',
    sessionKey: 'realtime:c1',
    history: [],
    info: {
      identity: { strength: 'none', id: null },
      route: '',
      carrier: 'test',
      carrierCallId: 'x',
      leg: legCapabilities,
    },
    parts: {
      config,
      clock,
      logger: silentLogger,
      models,
      synthesiser: testSynthesiser,
      store,
      prompts,
      channel: 'realtime',
      gateway,
      persona: 'You are a test.',
      toolPolicy: toolPolicyOf(config),
      history: () => Promise.resolve([]),
      recordingDirectory: null,
      delegate,
      deliverLate: (result) => late.push(result),
      createDetector: () => detector,
      ...options.parts,
    },
  });
  const test: TestCall = {
    clock,
    call,
    leg,
    legs: [leg],
    models,
    gateway,
    store,
    ops,
    violations,
    ended: null,
    record: null,
    progress: [],
    late,
    delegate,
    detector,
    heardMs: (itemId) => test.legs.reduce((sum, each) => sum + each.heardMs(itemId), 0),
    newLeg() {
      test.leg = new TestLeg(clock, ops, legCapabilities);
      test.legs.push(test.leg);
      call.attach(test.leg);
      return test.leg;
    },
    async advance(ms) {
      for (let left = ms; left > 0; left -= 20) {
        if (!test.leg.isClosed) test.leg.emit('audio', SILENT_FRAME);
        clock.advance(Math.min(20, left));
        // The rest of a chain may run in the next frame, as it might on a line.
        for (let i = 0; i < 6; i++) await null;
      }
      await settle();
    },
  };
  call.on('ended', (reason, record) => {
    test.ended = reason;
    test.record = record;
  });
  call.on('progress', (progress) => test.progress.push(progress));
  call.open().catch(() => {});
  if (options.attach !== false) call.attach(leg);
  return test;
}
