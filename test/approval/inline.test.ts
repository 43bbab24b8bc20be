import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { MAX_QUEUED_PROMPTS } from '../../src/approval/inline/call-approvals.ts';
import {
  MAX_FAILURES_IN_ALL,
  MAX_FAILURES_PER_NUMBER,
  PIN_WINDOW_MS,
  PinGuard,
} from '../../src/approval/inline/pins.ts';
import { SPOKEN_ANSWER_LOCALES } from '../../src/approval/inline/proven-locales.ts';
import { loadWording } from '../../src/approval/inline/wording.ts';
import { loadAudio } from '../../src/audio/index.ts';
import { realClock } from '../../src/clock.ts';
import { VirtualClock } from '../../src/clock-virtual.ts';
import { VoiceError } from '../../src/errors.ts';
import { openStore } from '../../src/store/index.ts';
import { CORPUS_LOCALES } from './corpus.ts';
import { FakeFloor, type FakeFloorOptions, StubRecogniser } from './fake-line.ts';
import { MemoryApprovalStore } from './memory-store.ts';
import { type RigOptions, rig, statusOf } from './rig.ts';

beforeAll(() => loadAudio());

type Gate = NonNullable<RigOptions['toolGate']>;
const INLINE: Gate = { requireApproval: ['delete_*', 'send_email'], defaultMode: 'inline' };
const file = { path: 'report.txt' };

async function onCall(
  toolGate: Gate = INLINE,
  floorOptions: Partial<FakeFloorOptions> = {},
  rest: RigOptions = {},
) {
  const clock = (rest.clock as VirtualClock | undefined) ?? new VirtualClock();
  const recogniser = new StubRecogniser();
  const gate = await rig({ toolGate, clock, recogniser, ...rest });
  const floor = new FakeFloor({ clock, ...floorOptions });
  floor.attach(gate.system.inline.attach(floor));
  const ask = (name = 'delete_file', args: object = file) =>
    gate.call(name, args, {
      channel: 'realtime',
      chatId: 'anna',
      callId: floor.callId,
      toolCallId: 'tc',
      sessionKey: floor.sessionKey,
    });
  /** Until the prompt has been heard to its end. */
  const prompted = () => clock.advance(4000);
  const only = async () => (await gate.store.listApprovals())[0]!;
  return { ...gate, clock, floor, ask, prompted, only, recogniser };
}

describe('a request on the line', () => {
  it('gives the model one output at once, and waits for nobody', async () => {
    const { ask, floor, tools } = await onCall();

    const result = await ask();

    expect(statusOf(result)).toBe('pending_approval');
    expect(result.isError).toBe(false);
    expect(String(result.content)).toMatch(/has not run.*Do not say that it is done/s);
    expect(floor.said).toEqual([]);
    expect(tools.ran).toEqual([]);
  });

  it('is asked in one sentence of ours, with what will happen and the code, never with the answer', async () => {
    const { ask, prompted, floor } = await onCall();
    await ask();
    await prompted();

    expect(floor.said[0]).toMatch(
      /^I need your approval for delete file: report dot txt, and the code is \w+ \w+; [^.]*\.$/,
    );
    expect(floor.said[0]).not.toMatch(/approve (zero|one|two|three|four|five|six|seven|eight|nine)/);
    expect(floor.taken).toBe(true);
  });

  it('is approved by the drawn digits: keys pressed, tool ran, and the model is told', async () => {
    const { ask, prompted, floor, tools, only, clock } = await onCall();
    await ask();
    await prompted();

    expect(floor.press(floor.code)).toEqual([true, true]);
    await clock.advance(5000);

    expect(tools.ran).toEqual([{ name: 'delete_file', args: file, sessionKey: 'realtime:anna' }]);
    expect(await only()).toMatchObject({
      status: 'executed',
      decidedBy: 'anna',
      decidedInput: 'keypad',
      generation: 0,
    });
    expect(floor.said.at(-1)).toBe('Approved. I will do it now.');
    expect(floor.told).toEqual([
      expect.stringContaining('was approved and ran once. Result: delete_file done'),
    ]);
    expect(floor.taken).toBe(false);
  });

  it('is denied by 0 0', async () => {
    const { ask, prompted, floor, tools, only, clock } = await onCall();
    await ask();
    await prompted();
    floor.press('00');
    await clock.advance(5000);

    expect(await only()).toMatchObject({ status: 'denied', decidedInput: 'keypad' });
    expect(tools.ran).toEqual([]);
    expect(floor.said.at(-1)).toBe('All right. Nothing was done.');
    expect(floor.told[0]).toContain('was denied');
  });

  it('ends as denied after three wrong entries, and not before', async () => {
    const { ask, prompted, floor, only, clock, tools } = await onCall();
    await ask();
    await prompted();
    const wrong = floor.code === '12' ? '21' : '12';
    floor.press(wrong);
    floor.press(wrong);
    await clock.advance(100);
    expect((await only()).status).toBe('pending');
    floor.press(wrong);
    await clock.advance(5000);

    expect(await only()).toMatchObject({ status: 'denied', reason: 'three wrong entries' });
    expect(tools.ran).toEqual([]);
  });

  it('keeps every key from the model while it has the floor, and no key when it has not', async () => {
    const { ask, prompted, floor } = await onCall();
    expect(floor.press('5')).toEqual([false]);
    await ask();
    await prompted();

    expect(floor.press('*9#')).toEqual([true, true, true]);
  });

  it('is not approved by the digits of another request', async () => {
    let draw = 0;
    const { ask, prompted, floor, clock, store, tools } = await onCall(
      INLINE,
      {},
      { random: (below) => draw++ % below },
    );
    await ask('delete_file', { path: 'a' });
    await ask('delete_file', { path: 'b' });
    await prompted();
    const first = floor.code;
    floor.press(first);
    await clock.advance(8500);
    const second = floor.code;
    expect(second).not.toBe(first);
    floor.press(first);
    await clock.advance(1000);

    expect(tools.ran).toHaveLength(1);
    const states = (await store.listApprovals()).map((each) => [each.args === null, each.status]);
    expect(states).toContainEqual([false, 'pending']);
  });

  it('waits for a quiet moment, and not for ever', async () => {
    const { ask, floor, clock } = await onCall();
    floor.quiet = false;
    await ask();
    await clock.advance(9000);
    expect(floor.said).toEqual([]);
    await clock.advance(1500);

    expect(floor.said).toHaveLength(1);
  });

  it('has the floor alone: others wait, and each is decided by itself', async () => {
    const { ask, floor, clock, tools, store } = await onCall();
    await ask('delete_file', { path: 'a' });
    await ask('send_email', { to: 'b@example.com' });
    await clock.advance(4000);
    expect(floor.said).toHaveLength(1);
    expect(floor.said[0]).toContain('delete file');
    floor.press('00');
    await clock.advance(8000);
    expect(floor.said.at(-1)).toContain('send email');
    floor.press(floor.code);
    await clock.advance(5000);

    expect(tools.ran.map((each) => each.name)).toEqual(['send_email']);
    expect((await store.listApprovals()).map((each) => each.status).sort()).toEqual(['denied', 'executed']);
  });

  it('beyond the bound of the queue is staged', async () => {
    const { ask } = await onCall();
    const results: string[] = [];
    for (let i = 0; i <= MAX_QUEUED_PROMPTS; i++)
      results.push(statusOf(await ask('delete_file', { path: `${i}` })));

    expect(results.slice(0, -1).every((each) => each === 'pending_approval')).toBe(true);
    expect(results.at(-1)).toBe('staged');
  });
});

describe('silence on the line', () => {
  it('is not consent: after one repetition only keys are left, then it is over', async () => {
    const { ask, floor, clock, only, tools } = await onCall({
      ...INLINE,
      inline: { timeoutS: 60, listenS: 10 },
    });
    await ask();
    await clock.advance(4000);
    await clock.advance(11_000);
    expect(floor.said).toHaveLength(2);
    expect(floor.said[1]).toContain('I did not get a clear answer');
    await clock.advance(13_500);
    expect(floor.said[2]).toContain('please use your keypad');
    expect((await only()).status).toBe('pending');
    await clock.advance(45_000);

    expect(await only()).toMatchObject({ status: 'expired', decidedBy: null });
    expect(floor.said.at(-1)).toBe('I did not get an answer, so nothing was done.');
    expect(floor.told[0]).toContain('Silence is not consent');
    expect(floor.told[0]).not.toContain('denied');
    expect(tools.ran).toEqual([]);
    expect(floor.taken).toBe(false);
  });

  it('runs from when the prompt was heard, never past the absolute deadline', async () => {
    const { ask, floor, clock, only } = await onCall({
      ...INLINE,
      inline: { timeoutS: 600, deadlineS: 30, listenS: 10 },
    });
    await ask();
    const { createdAt } = await only();
    await clock.advance(4000);
    const shown = await only();
    expect(shown.promptedAt).toBeGreaterThan(createdAt + 2900);
    expect(shown.expiresAt).toBe(createdAt + 30_000);
    await clock.advance(30_000);

    expect((await only()).status).toBe('expired');
    void floor;
  });

  it('suspends idle hang-up while it lasts, and no longer', async () => {
    const { ask, floor, clock } = await onCall();
    expect(floor.line!.isAsking).toBe(false);
    await ask();
    expect(floor.line!.isAsking).toBe(true);
    await clock.advance(4000);
    floor.press('00');
    await clock.advance(5000);

    expect(floor.line!.isAsking).toBe(false);
  });
});

describe('a spoken answer', () => {
  it('of the challenge approves, once', async () => {
    const { ask, prompted, floor, recogniser, only, clock, tools } = await onCall(
      {},
      {},
      { toolGate: INLINE },
    );
    void ask;
    void prompted;
    void floor;
    void recogniser;
    void only;
    void clock;
    void tools;
    const on = await onCall();
    await on.ask();
    await on.prompted();
    await on.floor.quietFor(800);
    on.recogniser.heard.push(`approve ${words(on.floor.code)}`);
    await on.floor.speak();
    await on.clock.advance(5000);

    expect(await on.only()).toMatchObject({ status: 'executed', decidedInput: 'speech', grantScope: 'once' });
    expect(on.tools.ran).toHaveLength(1);
    expect(on.floor.released).toEqual([]);
  });

  it.each([['no'], ['no thank you']])('“%s” alone denies', async (said) => {
    const { ask, prompted, floor, recogniser, only, clock } = await onCall();
    await ask();
    await prompted();
    await floor.quietFor(800);
    recogniser.heard.push(said);
    await floor.speak();
    await clock.advance(5000);

    expect(await only()).toMatchObject({ status: 'denied', decidedInput: 'speech' });
  });

  it.each([['yes'], ['approve'], ['wait'], ['what does that do'], ['do not approve four seven'], [null]])(
    '“%s” is no decision: it is asked once more, and the words are the model’s afterwards',
    async (said) => {
      const { ask, prompted, floor, recogniser, only, clock, tools } = await onCall();
      await ask();
      await prompted();
      await floor.quietFor(800);
      recogniser.heard.push(said);
      await floor.speak();
      await clock.advance(100);

      expect((await only()).status).toBe('pending');
      expect(floor.said).toHaveLength(2);
      expect(floor.toModel).toEqual([]);
      expect(floor.released).toEqual([]);
      floor.press('00');
      await clock.advance(5000);
      expect(floor.released.length).toBeGreaterThan(10);
      expect(tools.ran).toEqual([]);
    },
  );

  it('with another code approves nothing', async () => {
    const { ask, prompted, floor, recogniser, only, clock } = await onCall();
    await ask();
    await prompted();
    await floor.quietFor(800);
    recogniser.heard.push(`approve ${words(floor.code === '12' ? '21' : '12')}`);
    await floor.speak();
    await clock.advance(200);

    expect((await only()).status).toBe('pending');
  });

  it('counts only if nothing of ours was audible in it and for 700 ms before', async () => {
    const { ask, floor, recogniser, only, clock, tools } = await onCall();
    await ask();
    await clock.advance(1500);
    // Over the prompt itself.
    await floor.speak();
    expect(recogniser.calls).toBe(0);
    // Right behind it: an echo, or an answer to what was not asked to its end.
    await clock.advance(200);
    expect(recogniser.calls).toBe(0);
    expect((await only()).status).toBe('pending');
    expect(tools.ran).toEqual([]);
  });

  it('right behind the prompt is not even listened to', async () => {
    const { ask, floor, recogniser, only, clock } = await onCall();
    await ask();
    while (floor.said.length === 0) await clock.advance(20);
    await clock.advance(3050);
    recogniser.heard.push(`approve ${words(floor.code)}`);
    await floor.speak();

    expect(recogniser.calls).toBe(0);
    expect((await only()).status).toBe('pending');
  });

  it('is not waited for past one repetition', async () => {
    const { ask, prompted, floor, recogniser, only, clock } = await onCall();
    await ask();
    await prompted();
    for (let i = 0; i < 2; i++) {
      await floor.quietFor(800);
      recogniser.heard.push('yes');
      await floor.speak();
      await clock.advance(3200);
    }
    const calls = recogniser.calls;
    await clock.advance(3500);
    recogniser.heard.push(`approve ${words(floor.code)}`);
    await floor.quietFor(800);
    await floor.speak();

    expect(recogniser.calls).toBe(calls);
    expect((await only()).status).toBe('pending');
    floor.press(floor.code);
    await clock.advance(5000);
    expect((await only()).status).toBe('executed');
  });

  it('never decides where the tool wants a key, and the prompt does not offer it', async () => {
    const { ask, prompted, floor, recogniser, only } = await onCall({
      ...INLINE,
      inline: { minimum: { 'delete_*': 'keypad' } },
    });
    await ask();
    await prompted();
    expect(floor.said[0]).not.toContain('say approve');
    recogniser.heard.push(`approve ${words(floor.code)}`);
    await floor.quietFor(800);
    await floor.speak();

    expect(recogniser.calls).toBe(0);
    expect((await only()).status).toBe('pending');
  });

  it('never decides where the locale has no recogniser', async () => {
    const { ask, prompted, floor, only } = await onCall(INLINE, {}, { recogniser: null });
    await ask();
    await prompted();
    expect(floor.said[0]).not.toContain('say approve');
    await floor.speak();

    expect((await only()).status).toBe('pending');
  });

  it('never decides in a locale where it was not proven, recogniser or not: keys do', async () => {
    const { ask, prompted, floor, only, recogniser, tools, clock } = await onCall(
      INLINE,
      {},
      { locale: 'fr-fr' },
    );
    await ask();
    await prompted();
    const [prompt = ''] = floor.said;
    expect(prompt).toMatch(/tapez \S+ \S+ sur votre clavier/);
    expect(prompt).not.toMatch(/dites/);
    await floor.quietFor(800);
    const { digits } = loadWording('fr-fr');
    const code = (/tapez (\S+) (\S+)/.exec(prompt)?.slice(1) ?? [])
      .map((word) => digits.indexOf(word))
      .join('');
    for (const said of ['non', `approuver ${code}`]) {
      recogniser.heard.push(said);
      await floor.speak();
      expect(floor.line!.text(said)).toBe(false);
    }
    expect(recogniser.calls).toBe(0);
    expect((await only()).status).toBe('pending');

    floor.press(code);
    await clock.advance(5000);

    expect(tools.ran).toHaveLength(1);
    expect((await only()).decidedInput).toBe('keypad');
  });

  it('may decide in those locales only whose corpus is measured', () => {
    expect(SPOKEN_ANSWER_LOCALES).toEqual(CORPUS_LOCALES);
  });

  it('may be for the rest of the call, and the grant ends with the call', async () => {
    const { ask, prompted, floor, recogniser, clock, tools, store } = await onCall();
    await ask();
    await prompted();
    await floor.quietFor(800);
    recogniser.heard.push(`approve ${words(floor.code)} for this call`);
    await floor.speak();
    await clock.advance(5000);

    expect(statusOf(await ask('delete_file', { path: 'other' }))).toBe('ran');
    expect(tools.ran).toHaveLength(2);
    floor.hangUp();
    await clock.advance(10);
    expect(await store.listAllGrants(10)).toEqual([]);
  });
});

describe('who is on the line', () => {
  const withPin: Gate = { ...INLINE, approvers: [{ name: 'anna', pin: '482913' }] };
  const stranger = { caller: { strength: 'claimed', id: '+15550100' } as const, sessionKey: 'realtime:c' };

  it('without a way to show it, is not asked: the request is staged', async () => {
    const { ask, floor } = await onCall(INLINE, stranger);

    expect(statusOf(await ask())).toBe('staged');
    expect(floor.said).toEqual([]);
  });

  it('by caller id alone approves nothing, attested or not', async () => {
    const { ask } = await onCall(INLINE, { caller: { strength: 'attested', id: '+15550100' } });

    expect(statusOf(await ask())).toBe('staged');
  });

  it('shows it by a PIN on the keypad, and is asked then', async () => {
    const { ask, floor, clock, only, tools } = await onCall(withPin, stranger);
    expect(statusOf(await ask())).toBe('pending_approval');
    await clock.advance(4000);
    expect(floor.said[0]).toContain('enter your pin');
    expect(floor.press('482913#').every(Boolean)).toBe(true);
    await clock.advance(3500);
    expect(floor.said[1]).toContain('I need your approval');
    floor.press(floor.code);
    await clock.advance(5000);

    expect(await only()).toMatchObject({ status: 'executed', decidedBy: 'anna' });
    expect(tools.ran).toHaveLength(1);
  });

  it('has three tries on a call; then it waits for somebody elsewhere', async () => {
    const { ask, floor, clock, only, tools } = await onCall(withPin, stranger);
    await ask();
    await clock.advance(4000);
    for (let i = 0; i < 3; i++) {
      floor.press('111111#');
      await clock.advance(3500);
    }
    await clock.advance(4000);

    expect(await only()).toMatchObject({ status: 'pending', mode: 'deferred' });
    expect(floor.told[0]).toContain('waiting for a person');
    expect(tools.ran).toEqual([]);
    expect(statusOf(await ask('send_email', {}))).toBe('staged');
  });

  it('who enters no PIN in time is not waited for in silence', async () => {
    const { ask, clock, only, floor } = await onCall(withPin, stranger);
    await ask();
    await clock.advance(45_000);

    expect(await only()).toMatchObject({ status: 'pending', mode: 'deferred' });
    expect(floor.taken).toBe(false);
  });

  it('who is no approver may not decide, page login or not', async () => {
    const { ask } = await onCall({ ...INLINE, approvers: [{ name: 'bob' }] });

    expect(statusOf(await ask())).toBe('staged');
  });

  it('asked for it, and may not approve it where the policy separates the two', async () => {
    const { ask } = await onCall({ ...INLINE, separateRequester: true });

    expect(statusOf(await ask())).toBe('staged');
  });

  const PINS = [{ name: 'anna', pin: '482913', senders: [], webhookUsers: [] }];

  it('is locked out after too many wrong PINs, by number and in all, until the hour is over', async () => {
    const clock = new VirtualClock();
    const guard = new PinGuard(new MemoryApprovalStore(), clock);
    for (let i = 0; i < MAX_FAILURES_PER_NUMBER; i++) expect(await guard.check('0000', PINS, 'a')).toBeNull();

    expect(await guard.check('482913', PINS, 'a')).toBeNull();
    expect((await guard.check('482913', PINS, 'b'))?.name).toBe('anna');
    for (let i = MAX_FAILURES_PER_NUMBER; i < MAX_FAILURES_IN_ALL; i++)
      await guard.check('0000', PINS, `n${i}`);
    expect(await guard.isOpen('b')).toBe(false);
    expect(await guard.check('482913', PINS, 'b')).toBeNull();
    await clock.advance(PIN_WINDOW_MS);
    expect((await guard.check('482913', PINS, 'a'))?.name).toBe('anna');
  });

  it('is locked out in another process and after a restart too, and the store holds no number', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'pins-'));
    const file = join(directory, 'realtime.db');
    const open = async () => {
      const store = await openStore({ engine: 'sqlite', file });
      const guard = new PinGuard(store, realClock);
      return { store, guard, key: await guard.keyOf('+15550123') };
    };
    const [one, two] = [await open(), await open()];
    expect(two.key).toBe(one.key);

    // Both guess at once: together they have no more tries than one alone.
    const guesses = Array.from({ length: 12 }, (_, i) =>
      (i % 2 ? one : two).guard.check('0000', PINS, one.key),
    );
    await Promise.all(guesses);
    expect(await one.guard.check('482913', PINS, one.key)).toBeNull();
    await Promise.all([one.store.close(), two.store.close()]);
    const after = await open();

    expect(await after.guard.isOpen(after.key)).toBe(false);
    expect(await after.guard.check('482913', PINS, after.key)).toBeNull();
    expect(await after.guard.isOpen(await after.guard.keyOf('+15550124'))).toBe(true);
    await after.store.close();
    const bytes = readdirSync(directory).map((name) => readFileSync(join(directory, name), 'latin1'));
    expect(bytes.some((each) => each.includes(after.key))).toBe(true);
    expect(bytes.some((each) => each.includes('5550123'))).toBe(false);
    rmSync(directory, { recursive: true });
  });

  it('is not asked for a PIN when the store can not say whether they may try: nothing runs', async () => {
    const store = new MemoryApprovalStore();
    const { ask, tools } = await onCall(
      { ...INLINE, approvers: PINS },
      { caller: { strength: 'claimed', id: '+15550100' } },
      { store },
    );
    store.mayTryPin = async () => {
      throw new VoiceError('STORE_UNAVAILABLE', 'gone');
    };

    expect(statusOf(await ask())).toBe('denied');
    expect(tools.ran).toEqual([]);
  });
});

describe('a hang-up while a request is pending', () => {
  it('cancels it: not a no, and nothing runs', async () => {
    const { ask, prompted, floor, clock, only, tools, system } = await onCall();
    await ask();
    await prompted();
    floor.hangUp();
    await clock.advance(100);

    expect(await only()).toMatchObject({
      status: 'cancelled',
      decidedBy: null,
      reason: 'the caller hung up',
    });
    expect(tools.ran).toEqual([]);
    expect(system.inline.size).toBe(0);
  });

  it('hands it over where the config says so, under the same id and hash', async () => {
    const { ask, prompted, floor, clock, only, approve, tools } = await onCall({
      ...INLINE,
      inline: { onHangup: 'defer' },
    });
    await ask();
    await prompted();
    const before = await only();
    floor.hangUp();
    await clock.advance(100);

    const after = await only();
    expect(after).toMatchObject({
      id: before.id,
      argsHash: before.argsHash,
      status: 'pending',
      mode: 'deferred',
    });
    expect(after.expiresAt).toBeGreaterThan(before.expiresAt);
    await approve(after.id);
    await clock.advance(100);
    expect(tools.ran).toHaveLength(1);
  });

  it('of a connection that dropped keeps it a while, and the same session is asked again', async () => {
    const first = await onCall();
    await first.ask();
    await first.prompted();
    const code = first.floor.code;
    first.floor.hangUp(true);
    await first.clock.advance(5000);
    expect((await first.only()).status).toBe('pending');

    const floor = new FakeFloor({ clock: first.clock, callId: 'call-2' });
    floor.attach(first.system.inline.attach(floor));
    await first.clock.advance(4000);

    expect(floor.said[0]).toContain('delete file');
    const record = await first.only();
    expect(record).toMatchObject({ callId: 'call-2', generation: 2 });
    // What was decided for the old connection is stale.
    const stale = await first.approvals.decide({
      id: record.id,
      approve: true,
      by: 'anna',
      input: 'keypad',
      generation: 0,
    });
    expect(stale).toMatchObject({ ok: false, why: 'stale_connection' });
    void code;
    floor.press(floor.code);
    await first.clock.advance(5000);
    expect(first.tools.ran).toHaveLength(1);
    expect(floor.told).toHaveLength(1);
  });

  it('of a connection that does not come back lets it expire', async () => {
    const { ask, prompted, floor, clock, only } = await onCall({
      ...INLINE,
      inline: { reconnectGraceS: 30 },
    });
    await ask();
    await prompted();
    floor.hangUp(true);
    await clock.advance(40_000);

    expect((await only()).status).toBe('expired');
  });

  it('of another session shows it to nobody else', async () => {
    const first = await onCall();
    await first.ask();
    await first.prompted();
    first.floor.hangUp(true);
    const other = new FakeFloor({
      clock: first.clock,
      callId: 'call-2',
      sessionKey: 'realtime:bob',
      caller: { strength: 'authenticated', id: 'bob' },
    });
    other.attach(first.system.inline.attach(other));
    await first.clock.advance(6000);

    expect(other.said).toEqual([]);
  });

  it('after the approval, while it runs: it finishes, and the outcome is told to the session when it calls again', async () => {
    const store = undefined;
    void store;
    const { ask, prompted, floor, clock, only, tools, system } = await onCall();
    let finish: () => void = () => {};
    clock.track = (work) => work;
    tools.run = () =>
      new Promise((resolve) => (finish = () => resolve({ content: 'deleted', isError: false })));
    await ask();
    await prompted();
    floor.press(floor.code);
    await clock.advance(100);
    floor.hangUp();
    const host = system as never;
    void host;
    finish();
    await clock.advance(100);

    expect((await only()).status).toBe('executed');
  });

  it('on a new leg of the same call asks again, and the old answer is stale', async () => {
    const { ask, prompted, floor, clock, only, tools } = await onCall();
    await ask();
    await prompted();
    const before = floor.said.length;
    floor.line!.reconnected();
    await clock.advance(5000);

    expect(floor.said.length).toBeGreaterThan(before);
    expect((await only()).generation).toBe(1);
    floor.press(floor.code);
    await clock.advance(5000);
    expect(tools.ran).toHaveLength(1);
  });
});

describe('a prompt that nobody could hear', () => {
  it('is never waited for: it is staged, and the model is told', async () => {
    const { ask, floor, clock, only } = await onCall();
    floor.deaf = true;
    await ask();
    await clock.advance(2000);

    expect(await only()).toMatchObject({ status: 'pending', mode: 'deferred', promptedAt: null });
    expect(floor.told[0]).toContain('waiting for a person’s approval elsewhere'.replace('’', "'"));
    expect(floor.taken).toBe(false);
  });
});

describe('a decision elsewhere while the prompt is on the line', () => {
  it('ends the prompt and is said', async () => {
    const { ask, prompted, floor, clock, only, approve, tools } = await onCall();
    await ask();
    await prompted();
    await approve((await only()).id);
    await clock.advance(4000);

    expect(floor.said.at(-1)).toBe('Approved. I will do it now.');
    expect(tools.ran).toHaveLength(1);
    expect(floor.taken).toBe(false);
    expect(floor.press('1')).toEqual([false]);
  });

  it('takes a waiting request out of the queue', async () => {
    const { ask, prompted, floor, clock, store, approvals } = await onCall();
    await ask('delete_file', { path: 'a' });
    await ask('send_email', {});
    await prompted();
    const second = (await store.listApprovals()).find((each) => each.tool === 'send_email')!;
    await approvals.decide({ id: second.id, approve: false, by: 'operator', input: 'page' });
    floor.press('00');
    await clock.advance(10_000);

    expect(floor.said.some((text) => text.includes('send email'))).toBe(false);
  });
});

function words(code: string): string {
  const names = ['zero', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine'];
  return [...code].map((digit) => names[Number(digit)]).join(' ');
}
