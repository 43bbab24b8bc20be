import { describe, expect, it } from 'vitest';
import type { PageEvent } from '../../src/leg/page/index.ts';
import { activity } from '../../web/talk/activity.ts';
import {
  type Conversation,
  EMPTY_CONVERSATION,
  MAX_ENTRIES,
  over,
  shownIds,
  splitHeard,
  told,
  toolStatus,
  typed,
} from '../../web/talk/conversation.ts';

const tellAll = (...events: PageEvent[]): Conversation =>
  events.reduce((conversation, event, at) => told(conversation, event, at), EMPTY_CONVERSATION);
const says = (itemId: string, text: string, more: object = {}): PageEvent => ({
  type: 'transcript',
  role: 'assistant',
  itemId,
  text,
  append: false,
  final: false,
  ...more,
});
const said = ({ entries }: Conversation) =>
  entries.map((entry) => (entry.kind === 'said' ? entry.text : entry.kind));
const approval = (status: 'pending' | 'executed' | 'denied'): PageEvent => ({
  type: 'approval',
  id: 'r1',
  tool: 'delete_file',
  summary: 'delete report.txt',
  status,
  canDecide: true,
  expiresAt: 99,
});
const picture: PageEvent = {
  type: 'media',
  id: 'AAAAAAAAAAAAAAAA',
  segment: 0,
  kind: 'image',
  mime: 'image/png',
  name: 'a.png',
  size: 1,
  sha256: '',
  caption: 'A',
  url: '/media/p/1',
};

describe('captions', () => {
  it('go behind what there is, or in its place, as they are told', () => {
    const appended = tellAll(says('i', 'Hel', { append: true }), says('i', 'lo.', { append: true }));
    const replaced = told(appended, says('i', 'Hello, you.', { final: true }), 2);

    expect(said(appended)).toEqual(['Hello.']);
    expect(said(replaced)).toEqual(['Hello, you.']);
    expect(replaced.entries[0]).toMatchObject({ final: true, heard: null });
  });

  it('stay where they began, however long the other side takes', () => {
    const conversation = tellAll(
      { type: 'transcript', role: 'user', itemId: 'u', text: 'what', append: false, final: false },
      says('i', 'It is noon.'),
      { type: 'transcript', role: 'user', itemId: 'u', text: 'what time is it', append: false, final: true },
    );

    expect(said(conversation)).toEqual(['what time is it', 'It is noon.']);
  });

  it('of a sound without words are taken away again', () => {
    const sound: PageEvent = {
      type: 'transcript',
      role: 'user',
      itemId: 'u',
      text: 'mm',
      append: false,
      final: false,
    };

    expect(said(tellAll(sound, { ...sound, text: ' ', final: true }))).toEqual([]);
  });

  it('of the same id on both sides are two', () => {
    const user: PageEvent = {
      type: 'transcript',
      role: 'user',
      itemId: 'x',
      text: 'a',
      append: false,
      final: true,
    };

    expect(said(tellAll(user, says('x', 'b')))).toEqual(['a', 'b']);
  });

  it('show what was not heard of a cut answer, even when more of it is told later', () => {
    const cut = tellAll(says('i', 'One. Two. Three.'), { type: 'heard', itemId: 'i', text: 'One. Two.' });
    const [entry] = told(cut, says('i', 'One. Two. Three. Four.', { final: true }), 5).entries;

    expect(entry).toMatchObject({ heard: 'One. Two.' });
    expect(splitHeard('One. Two. Three. Four.', 'One. Two.')).toEqual({
      heard: 'One. Two.',
      unheard: ' Three. Four.',
    });
  });

  it('are cut at words where spaces and marks differ, and not at all where the words do', () => {
    expect(splitHeard('Call  the dentist,\non Monday.', 'call the dentist on')).toEqual({
      heard: 'Call  the dentist,\non',
      unheard: ' Monday.',
    });
    expect(splitHeard('Something else.', 'Call the dentist')).toEqual({
      heard: 'Call the dentist',
      unheard: '',
    });
    expect(splitHeard('Never heard.', '')).toEqual({ heard: '', unheard: 'Never heard.' });
    expect(splitHeard('All of it.', null)).toEqual({ heard: 'All of it.', unheard: '' });
  });
});

describe('the conversation', () => {
  it('keeps a tool’s arguments when only its result is told, and its time', () => {
    const conversation = tellAll(
      { type: 'tool', callId: 't', name: 'read_file', phase: 'started', args: '{"path":"a"}' },
      { type: 'tool', callId: 't', name: 'read_file', phase: 'progress', output: 'half' },
      { type: 'tool', callId: 't', name: 'read_file', phase: 'ended', output: 'text', isError: true },
    );

    expect(conversation.entries).toMatchObject([
      { args: '{"path":"a"}', output: 'text', status: 'failed', startedAt: 0, endedAt: 2 },
    ]);
  });

  it('says of a tool that waits for a person that it waits, whatever the model was told', () => {
    const asked = tellAll(
      { type: 'tool', callId: 't', name: 'delete_file', phase: 'started' },
      approval('pending'),
      { type: 'tool', callId: 't', name: 'delete_file', phase: 'ended', output: 'pending_approval' },
    );
    const status = (conversation: Conversation) => {
      const [tool] = conversation.entries;
      return tool?.kind === 'tool' ? toolStatus(tool, conversation.entries) : null;
    };

    expect(status(asked)).toBe('asked');
    expect(status(told(asked, approval('executed'), 9))).toBe('done');
    expect(status(told(asked, approval('denied'), 9))).toBe('not_done');
  });

  it('shows a picture once, and tells which it shows', () => {
    const conversation = tellAll(picture, { ...picture, url: '/media/p/2' });

    expect(conversation.entries).toHaveLength(1);
    expect(conversation.entries[0]).toMatchObject({ media: { url: '/media/p/1' } });
    expect(shownIds(conversation)).toEqual(['AAAAAAAAAAAAAAAA']);
  });

  it('is bounded; the oldest goes', () => {
    const events = Array.from({ length: MAX_ENTRIES + 3 }, (_, n) => says(`i${n}`, `${n}`));

    const { entries } = tellAll(...events);

    expect(entries).toHaveLength(MAX_ENTRIES);
    expect(entries[0]).toMatchObject({ text: '3' });
  });

  it('leaves no tool running when the call is over', () => {
    const conversation = over(tellAll({ type: 'tool', callId: 't', name: 'exec', phase: 'started' }), 7);

    expect(conversation.entries).toMatchObject([{ status: 'left', endedAt: 7 }]);
  });

  it('shows what the caller typed as theirs', () => {
    const conversation = typed(typed(EMPTY_CONVERSATION, 'one', 1), 'two', 1);

    expect(conversation.entries).toMatchObject([
      { role: 'user', text: 'one', typed: true },
      { role: 'user', text: 'two', typed: true },
    ]);
  });
});

describe('what the agent is doing', () => {
  const running = (name: string, args?: string) =>
    tellAll({ type: 'tool', callId: 't', name, phase: 'started', ...(args === undefined ? {} : { args }) });

  it.each([
    ['read_file', '{"path":"docs/notes.md"}', 'Reading notes.md…'],
    ['read_file', undefined, 'Reading a file…'],
    ['list_dir', '{"path":"."}', 'Looking at the files…'],
    ['web_fetch', '{"url":"https://example.com/a"}', 'Reading example.com…'],
    ['web_search', '{"query":"tea"}', 'Searching for “tea”…'],
    ['turn_on_light', '{broken', 'Using turn on light…'],
  ])('%s with %s is “%s”', (name, args, expected) => {
    expect(activity(running(name, args))).toBe(expected);
  });

  it('is the state when no tool runs, and speaking goes before a tool', () => {
    const state = (name: 'speaking' | 'listening' | 'asking'): PageEvent => ({ type: 'state', state: name });

    expect(activity(tellAll(state('listening')))).toBe('Listening');
    expect(activity(told(running('exec'), state('speaking'), 1))).toBe('Speaking');
    expect(activity(told(running('exec'), state('asking'), 1))).toBe('Asks for your approval');
  });
});
