import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { writeWav } from '../../src/audio/index.ts';
import { CallRecorder, MAX_RECORD_EVENTS, renderCallPage } from '../../src/observe/index.ts';

let folder: string;
let wav: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'page-'));
  wav = join(folder, 'call.wav');
  const channels = [new Int16Array(80_000).fill(4000), new Int16Array(80_000)];
  writeFileSync(wav, writeWav({ sampleRate: 8000, channels }));
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

const head = {
  id: 'abcdef0123456789',
  carrier: 'wav',
  provider: 'command',
  identityStrength: 'none',
  startedAt: '2026-01-02T03:04:05.000Z',
  durationMs: 10_000,
  endReason: 'agent_hangup',
  clock: 'real',
  usage: {
    responses: 1,
    inputTokens: 0,
    outputTokens: 0,
    inputAudioTokens: 0,
    cachedInputTokens: 0,
    outputAudioTokens: 0,
    seconds: 0,
    callerSpeechMs: 1000,
    agentSpeechMs: 1000,
    turns: [],
  },
} as const;

describe('the page of a call', () => {
  it('draws speech, tools, interruptions and latencies, and embeds the sound', async () => {
    const recorder = new CallRecorder();
    recorder.event({ type: 'caller_speech', atMs: 0, endMs: 900, text: null, turn: 1 });
    recorder.words(1, 'What time is it?');
    recorder.event({
      type: 'tool',
      atMs: 950,
      endMs: 1000,
      name: 'current_time',
      args: '{}',
      output: '12:00',
      isError: false,
      turn: 1,
    });
    recorder.event({
      type: 'agent_speech',
      atMs: 1200,
      endMs: 2200,
      text: 'It is noon.',
      whole: false,
      source: 'model',
      turn: 1,
    });
    recorder.event({ type: 'interruption', atMs: 2200, source: 'model', heardMs: 1000, itemMs: 3000 });
    recorder.latency({ turn: 1, speechEndMs: 900, agentStartMs: 1200, latencyMs: 300, toolMs: 50 });

    const page = await renderCallPage(recorder.build(head), wav);

    for (const text of [
      'What time is it?',
      'current_time',
      'It is noon.',
      '0.30 s',
      'interrupted',
      'agent hangup',
    ]) {
      expect(page).toContain(text);
    }
    expect(page).toContain('src="data:audio/wav;base64,UklGR');
    expect(page).toMatch(/class="wave callerwave" d="M/);
  });

  it('loads nothing from anywhere and runs nothing that a caller said', async () => {
    const recorder = new CallRecorder();
    const text = '<script>alert(1)</script><img src=x onerror=alert(2)>';
    recorder.event({
      type: 'agent_speech',
      atMs: 0,
      endMs: 900,
      text,
      whole: true,
      source: 'model',
      turn: 0,
    });
    recorder.event({
      type: 'tool',
      atMs: 1,
      endMs: 2,
      name: 't',
      args: text,
      output: text,
      isError: true,
      turn: 0,
    });

    const page = await renderCallPage(recorder.build(head), wav);

    expect(page).not.toContain('<script>alert');
    expect(page).not.toContain('<img');
    expect(page.replaceAll('data:audio', '')).not.toMatch(/(?:src|href)="https?:/);
    expect(page).toContain("default-src 'none'");
  });

  it('is made from a record that is bounded', () => {
    const recorder = new CallRecorder();
    for (let i = 0; i < MAX_RECORD_EVENTS + 7; i++) recorder.event({ type: 'key', atMs: i });

    const record = recorder.build(head);

    expect(record.events).toHaveLength(MAX_RECORD_EVENTS);
    expect(record.eventsLeftOut).toBe(7);
  });
});
