import { describe, expect, it } from 'vitest';
import {
  type AudioFormat,
  audioByteLength,
  encodeG711,
  PCM16_8K,
  PCM16_16K,
  PCM16_24K,
  PCMU_8K,
  resample,
} from '../../../src/audio/index.ts';
import { MAX_HELD_AUDIO_MS, MAX_WAITING_TURNS } from '../../../src/model/command/index.ts';
import { open, TOOLS, tool } from './rig.ts';

const PCMA_8K: AudioFormat = { encoding: 'pcma', sampleRate: 8000 };

describe('a session with the offline model', () => {
  it('greets with the words it is given', async () => {
    const { model, of, settle, types, clear } = await open();
    expect(of('ready')).toEqual([{ inputFormat: PCM16_16K, outputFormat: PCMU_8K }]);
    clear();
    model.requestResponse({ requestId: 'r1', say: 'Hello, caller.' });
    expect(types()).toEqual([]); // nothing happens inside the call
    await settle();

    const { responseId, requestId } = of('responseStarted')[0]!;
    expect(requestId).toBe('r1');
    expect(of('outputTranscript').at(-1)).toMatchObject({ text: 'Hello, caller.', final: true, responseId });
    expect(of('responseDone')).toEqual([{ responseId, status: 'completed' }]);
    expect(types()[0]).toBe('responseStarted');
    expect(types().at(-1)).toBe('responseDone');
  });

  it('turns what the caller says into a tool call, and the result into speech', async () => {
    const { says, of, types, clear, model, settle } = await open();
    clear();
    await says('what time is it');
    expect(types()).toEqual([
      'speechStarted',
      'speechStopped',
      'inputCommitted',
      'inputTranscript',
      'responseStarted',
      'toolCall',
      'responseDone',
    ]);
    const itemId = of('speechStarted')[0]?.itemId;
    expect(of('inputCommitted')).toEqual([{ itemId }]);
    expect(of('inputTranscript')).toEqual([{ itemId, text: 'what time is it', final: true }]);
    expect(of('responseStarted')[0]).not.toHaveProperty('requestId');
    const [call] = of('toolCall');
    expect(call).toMatchObject({ name: 'current_time', args: '{}' });

    clear();
    model.sendToolOutput(call!.callId, '2026-11-30 15:05 (Monday)');
    await settle();
    expect(types()).toEqual([]); // an output alone asks for nothing
    model.requestResponse({ requestId: 'r1' });
    await settle();
    expect(of('outputTranscript').at(-1)?.text).toBe('It is 3:05 PM, on Monday, November 30.');
    expect(of('responseStarted')[0]?.requestId).toBe('r1');
  });

  it.each([
    ['pcmu', PCMU_8K],
    ['pcma', PCMA_8K],
    ['pcm16 at 8 kHz', PCM16_8K],
    ['pcm16 at 16 kHz', PCM16_16K],
    ['pcm16 at 24 kHz', PCM16_24K],
  ] as const)('listens to %s and answers in it', async (_, format) => {
    const { of, hear, speech, recogniser, settle, audioMs } = await open({
      inputFormat: format,
      outputFormat: format,
    });
    recogniser.hears.push('goodbye');
    const rate = format.sampleRate;
    hear(resample(speech, 16_000, rate), format);
    hear(new Int16Array(rate), format);
    await settle();
    expect(of('ready')).toEqual([{ inputFormat: format, outputFormat: format }]);
    expect(of('inputTranscript')[0]?.text).toBe('goodbye');
    // "Goodbye." and "Thank you for your call." at 10 ms a letter, with a pause between.
    expect(audioMs()).toBeGreaterThanOrEqual(320 + 180);
    expect(audioMs()).toBeLessThan(320 + 180 + 20);
  });

  it('says what formats count when it is asked for others', async () => {
    const other: AudioFormat = { encoding: 'pcm16', sampleRate: 48_000 };
    const { of } = await open({ inputFormat: other, outputFormat: other });
    expect(of('ready')).toEqual([{ inputFormat: PCMU_8K, outputFormat: PCMU_8K }]);
  });

  it('gives the recogniser the utterance with what was just before it, and no more', async () => {
    const { says, recogniser, hear, of } = await open();
    hear(new Int16Array(16_000 * 10));
    await says('goodbye');
    const { audioStartMs = 0 } = of('speechStarted')[0]!;
    const { audioEndMs = 0 } = of('speechStopped')[0]!;
    expect(audioStartMs).toBeGreaterThan(10_000);
    expect(audioEndMs - audioStartMs).toBeGreaterThan(800);
    const lengthMs = recogniser.lengths[0]! / 16;
    expect(lengthMs).toBeGreaterThanOrEqual(audioEndMs - audioStartMs + 300);
    expect(lengthMs).toBeLessThan(audioEndMs - audioStartMs + 600);
  });

  it('speaks faster than real time, in chunks of at most 200 ms', async () => {
    const { model, of, clock, settle, audioMs } = await open();
    const before = clock.now();
    let doneAt = Number.NaN;
    model.on('responseDone', () => {
      doneAt = clock.now();
    });
    model.requestResponse({ requestId: 'r1', say: 'a '.repeat(400).trim() });
    await settle();
    expect(doneAt - before).toBeLessThan(10);
    expect(audioMs()).toBeGreaterThan(7000);
    expect(Math.max(...of('outputAudio').map(({ audio }) => audioByteLength(audio)))).toBe(1600);
  });

  it('stops its response when the caller speaks', async () => {
    const rig = await open();
    rig.model.requestResponse({ requestId: 'r1', say: 'One. Two. Three.' });
    rig.model.on('outputAudio', () => rig.hear(rig.speech));
    await rig.settle();
    const types = rig.types();
    const done = types.indexOf('responseDone');
    expect(types.slice(0, done)).toContain('speechStarted');
    expect(rig.of('responseDone')[0]?.status).toBe('cancelled');
    expect(types.slice(done)).not.toContain('outputAudio');
    expect(rig.synthesiser.said).not.toContain('Three.');
  });

  it('goes on when interruptions are somebody else’s to decide', async () => {
    const rig = await open({ interruptResponse: false });
    expect(rig.model.capabilities.interruptsItself).toBe(false);
    rig.model.requestResponse({ requestId: 'r1', say: 'One. Two. Three.' });
    const off = rig.model.on('outputAudio', () => {
      off();
      rig.hear(rig.speech);
    });
    await rig.settle();
    expect(rig.types()).toContain('speechStarted');
    expect(rig.of('responseDone')[0]?.status).toBe('completed');
  });

  it('answers a turn that it understood while a response was active, after it', async () => {
    const rig = await open({ interruptResponse: false });
    rig.recogniser.hears.push('goodbye');
    rig.model.requestResponse({ requestId: 'r1', say: 'One. Two. Three. Four. Five.' });
    const off = rig.model.on('outputAudio', () => {
      off();
      rig.hear(rig.speech);
      rig.hear(new Int16Array(16_000));
    });
    await rig.settle();
    const [first, second] = rig.of('responseDone');
    expect(rig.of('responseDone')).toHaveLength(2);
    expect(first?.responseId).toBe(rig.of('responseStarted')[0]?.responseId);
    expect(second?.responseId).toBe(rig.of('toolCall')[0]?.responseId);
  });

  it('refuses a second response with the request’s id, as the GA dialect does', async () => {
    const { model, of, settle } = await open();
    model.requestResponse({ requestId: 'r1', say: 'Hello.' });
    model.requestResponse({ requestId: 'r2', say: 'Hello again.' });
    await settle();
    expect(of('error')).toEqual([
      expect.objectContaining({
        severity: 'benign',
        code: 'conversation_already_has_active_response',
        requestId: 'r2',
      }),
    ]);
    expect(of('responseDone')).toHaveLength(1);
  });

  it('cancels a response that has only just been asked for, and says so when there is none', async () => {
    const { model, of, settle, types, clear } = await open();
    clear();
    model.requestResponse({ requestId: 'r1', say: 'Hello.' });
    model.cancelResponse();
    await settle();
    expect(types()).toEqual(['responseStarted', 'responseDone']);
    expect(of('responseDone')[0]?.status).toBe('cancelled');
    model.cancelResponse();
    await settle();
    expect(of('error')).toEqual([
      expect.objectContaining({ severity: 'benign', code: 'response_cancel_not_active' }),
    ]);
  });

  it('repeats only what was heard', async () => {
    const { model, of, settle, says, clear } = await open();
    model.requestResponse({ requestId: 'r1', say: 'First sentence. Second sentence.' });
    await settle();
    const itemId = of('outputAudio')[0]!.itemId;
    model.truncate(itemId, 200);
    clear();
    await says('what did you say');
    expect(of('outputTranscript').at(-1)?.text).toBe('First sentence.');

    clear();
    for (const { itemId: repeated } of of('outputAudioDone')) model.deleteItem(repeated);
    model.deleteItem(itemId);
    await settle();
    expect(of('error')).toEqual([]);
  });

  it('answers a truncation or a deletion that can’t be with a benign error', async () => {
    const { model, of, settle } = await open();
    model.requestResponse({ requestId: 'r1', say: 'Hi.' });
    await settle();
    model.truncate(of('outputAudio')[0]!.itemId, 60_000);
    model.truncate('item_unknown', 0);
    model.deleteItem('item_unknown');
    model.sendToolOutput('call_unknown', 'x');
    await settle();
    expect(of('error').map(({ severity, code }) => `${severity} ${code}`)).toEqual([
      'benign invalid_value',
      'benign item_not_found',
      'benign item_not_found',
      'benign invalid_tool_call_id',
    ]);
  });

  it('remembers the history that it is given', async () => {
    const { of, says } = await open({
      history: [{ role: 'assistant', text: 'Your train leaves at seven.' }],
    });
    await says('what did you say');
    expect(of('outputTranscript').at(-1)?.text).toBe('Your train leaves at seven.');
  });

  it('takes typed text for a turn, when it is asked to answer', async () => {
    const { model, of, settle, clear } = await open();
    clear();
    model.addContext('user', 'Read the file notes!');
    await settle();
    expect(of('responseStarted')).toEqual([]);
    model.requestResponse({ requestId: 'r1' });
    await settle();
    expect(of('toolCall')).toEqual([
      expect.objectContaining({ name: 'read_file', args: '{"path":"notes.txt"}' }),
    ]);
  });

  it('says nothing when it is asked for a response and there is nothing to say', async () => {
    const { model, types, settle, clear } = await open();
    clear();
    model.requestResponse({ requestId: 'r1' });
    await settle();
    expect(types()).toEqual(['responseStarted', 'responseDone']);
  });

  it('says goodbye before it ends the call', async () => {
    const { says, types } = await open();
    await says('goodbye');
    expect(types().lastIndexOf('outputAudio')).toBeLessThan(types().indexOf('toolCall'));
  });

  it('offers what the tools of the moment allow', async () => {
    const { model, recogniser, says, of, clear } = await open({ tools: [tool('read_file')] });
    await says(null);
    expect(recogniser.grammars.at(-1)).not.toContain('what time is it');
    expect(recogniser.grammars.at(-1)).toContain('<slot_file>');
    model.updateSession({ tools: TOOLS });
    clear();
    await says('what time is it');
    expect(recogniser.grammars.at(-1)).toContain('what time is it');
    expect(of('toolCall')).toHaveLength(1);
  });

  it('can be asked for a file that was made during the call', async () => {
    const files = ['notes.txt'];
    const { says, of } = await open({ slotValues: async () => [...files] });
    files.push('plan.md');
    await says('read the file plan');
    expect(of('toolCall')[0]?.args).toBe('{"path":"plan.md"}');
  });

  it('keeps the files it knew when the host gives none', async () => {
    let broken = false;
    const slotValues = () => {
      if (broken) throw new Error('host gone');
      return ['notes.txt'];
    };
    const { says, of } = await open({ slotValues });
    broken = true;
    await says('read the file notes');
    expect(of('toolCall')[0]?.args).toBe('{"path":"notes.txt"}');
  });

  it('says what can be asked when the recogniser fails, and works on', async () => {
    const { recogniser, says, of, clear } = await open();
    recogniser.fails = true;
    await says('what time is it');
    expect(of('inputTranscript')).toEqual([]);
    expect(of('outputTranscript').at(-1)?.text).toMatch(/^Sorry, I did not understand/);
    recogniser.fails = false;
    recogniser.hears.length = 0;
    clear();
    await says('what time is it');
    expect(of('toolCall')).toHaveLength(1);
  });

  it('fails a response whose words can’t be spoken, with a code, and works on', async () => {
    const { synthesiser, model, settle, of } = await open();
    synthesiser.fails = true;
    model.requestResponse({ requestId: 'r1', say: 'Hello.' });
    await settle();
    expect(of('responseDone')[0]).toMatchObject({ status: 'failed', errorCode: 'SPEECH_FAILED' });
    synthesiser.fails = false;
    model.requestResponse({ requestId: 'r2', say: 'Hello.' });
    await settle();
    expect(of('responseDone')[1]?.status).toBe('completed');
  });

  it('gives no two sessions the same ids', async () => {
    const first = await open();
    const second = await open();
    for (const each of [first, second]) each.model.requestResponse({ requestId: 'r1', say: 'Hello.' });
    await Promise.all([first.settle(), second.settle()]);
    expect(first.of('outputAudio')[0]!.itemId).not.toBe(second.of('outputAudio')[0]!.itemId);
    expect(first.of('responseStarted')[0]!.responseId).not.toBe(second.of('responseStarted')[0]!.responseId);
  });

  it('drops turns beyond those that may wait', async () => {
    const rig = await open();
    let release = () => {};
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    const recognise = rig.recogniser.recognise.bind(rig.recogniser);
    rig.recogniser.recognise = async (...args) => {
      await gate;
      return recognise(...args);
    };
    for (let i = 0; i < MAX_WAITING_TURNS + 3; i++) {
      rig.hear(rig.speech);
      rig.hear(new Int16Array(16_000));
    }
    release();
    await rig.settle();
    expect(rig.of('inputCommitted')).toHaveLength(MAX_WAITING_TURNS + 3);
    expect(rig.recogniser.lengths).toHaveLength(MAX_WAITING_TURNS);
  });

  it('closes once, at once, and says nothing afterwards', async () => {
    const rig = await open();
    rig.model.requestResponse({ requestId: 'r1', say: 'Hello.' });
    rig.clear();
    rig.model.close();
    rig.model.close();
    rig.hear(rig.speech);
    rig.model.requestResponse({ requestId: 'r2', say: 'Hello.' });
    rig.model.cancelResponse();
    await rig.settle();
    expect(rig.types()).toEqual(['closed']);
    await expect(
      rig.model.connect({ instructions: '', tools: [], inputFormat: PCMU_8K, outputFormat: PCMU_8K }),
    ).rejects.toMatchObject({ code: 'MODEL_SESSION_CLOSED' });
  });

  it('hears what was said while it was opening, up to a bound', async () => {
    const rig = await open();
    const model = rig.factory.create();
    const heard: number[] = [];
    model.on('speechStarted', ({ audioStartMs }) => heard.push(audioStartMs ?? -1));
    const frame = new Uint8Array(160).fill(0xff);
    for (let ms = 0; ms < MAX_HELD_AUDIO_MS * 2; ms += 20) model.appendAudio(frame);
    const speech = resample(rig.speech, 16_000, 8000);
    const bytes = encodeG711(speech, 'pcmu');
    for (let at = 0; at < bytes.length; at += 160) model.appendAudio(bytes.subarray(at, at + 160));
    await rig.clock.drive(
      model.connect({ instructions: '', tools: [], inputFormat: PCMU_8K, outputFormat: PCMU_8K }),
    );
    expect(heard).toHaveLength(1);
    expect(heard[0]).toBeGreaterThan(3000);
    expect(heard[0]).toBeLessThan(MAX_HELD_AUDIO_MS);
    model.close();
  });
});
