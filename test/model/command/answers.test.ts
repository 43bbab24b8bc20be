import { describe, expect, it } from 'vitest';
import { Commands } from '../../../src/model/command/commands.ts';
import { Conversation } from '../../../src/model/command/conversation.ts';
import { Dialogue, type Situation } from '../../../src/model/command/dialogue.ts';
import { loadPhrases } from '../../../src/model/command/phrase-file.ts';
import { loadCommandPrompts } from '../../../src/model/command/prompts.ts';
import { sayToolResult } from '../../../src/model/command/tool-result.ts';
import { loadDictionary } from '../../../src/speech/index.ts';

const prompts = loadCommandPrompts('en-us');
const french = loadCommandPrompts('fr-fr');
const say = (output: string) => sayToolResult(output, prompts, 'en-us');

describe('a tool’s result, spoken', () => {
  it.each([
    ['a listing', '📁 docs\n📄 notes.txt', 'There are 2 entries: the folder docs and notes dot text.'],
    ['a listing of one', '📄 notes.txt', 'There is one entry: notes dot text.'],
    ['an empty folder', 'Directory . is empty', 'It is empty.'],
    ['an empty file', '(Empty file: notes.txt)', 'It is empty.'],
    ['a file', '1| Buy milk.\n2| Call Ann\n\n(End of file — 2 lines total)', 'Buy milk. Call Ann.'],
    ['Markdown', '# To do\n- **Buy** [milk](https://x.example/y)\n```\n1. `run`', 'To do. Buy milk. run.'],
    ['an address', 'See https://example.com/a?b=c now', 'See a link now.'],
    ['the time', '2026-11-30 15:05 (Monday) (UTC, UTC+00:00)', 'It is 3:05 PM, on Monday, November 30.'],
    ['the time in another zone', '2026-11-30T15:05:00+09:00', 'It is 3:05 PM, on Monday, November 30.'],
    ['a date', 'Due 2026-12-01', 'Due December 1, 2026.'],
    ['JSON', '{"windSpeed": 5, "sunny": true, "note": null}', 'wind speed: 5. sunny: yes.'],
    ['a JSON list', '["a", "b", "c"]', 'a, b and c'],
    ['nothing', '', 'Done.'],
  ])('%s', (_, output, spoken) => {
    expect(say(output)).toBe(spoken);
  });

  it.each([
    [
      'Error: Path /etc/passwd is outside allowed directory /w (this is a hard policy boundary, …)',
      'toolOutside',
    ],
    ['Error: working_dir is outside the configured workspace', 'toolOutside'],
    ['Error: File not found: x.txt', 'toolNotFound'],
    ["Error: Tool 'x' not found. Available: read_file", 'toolNotFound'],
    ['Error: the tool timed out after 60 s', 'toolTimedOut'],
    ['Error: cancelled by the caller', 'toolCancelled'],
    ['Error: Command blocked by deny pattern filter', 'toolRefused'],
    ['{"error": "URL validation failed: Blocked: 127.0.0.1 resolves to a private address"}', 'toolRefused'],
    ["Error: Invalid parameters for tool 'read_file': missing required path", 'toolFailed'],
    ['Error executing exec: boom', 'toolFailed'],
  ] as const)('says of “%s” what happened, not the text', (output, prompt) => {
    expect(say(output)).toBe(prompts[prompt]);
    expect(sayToolResult(output, french, 'fr-fr')).toBe(french[prompt]);
  });

  it('is not an error because a file speaks of errors', () => {
    expect(say('1| The disk was not found.\n2| Access denied!')).toBe(
      'The disk was not found. Access denied!',
    );
  });

  it('stops after a few sentences and says that there is more', () => {
    const spoken = say(Array.from({ length: 30 }, (_, i) => `${i + 1}| Line ${i}.`).join('\n'));
    expect(spoken).toBe(`Line 0. Line 1. Line 2. Line 3. Line 4. Line 5. ${prompts.more}`);
    expect(say('1| Only this.\n\n(Showing lines 1-1 of 90. Use offset=2 to continue.)')).toBe(
      `Only this. ${prompts.more}`,
    );
    expect(say(Array.from({ length: 20 }, () => '📄 notes.txt').join('\n'))).toMatch(
      /20 entries: .* and 12 more\.$/,
    );
  });
});

describe('the conversation', () => {
  const counter = () => {
    let count = 0;
    return () => `item_${++count}`;
  };

  it('remembers of an item only what was heard of it', () => {
    const conversation = new Conversation(counter());
    conversation.speak('a', { text: 'One two three four.', startMs: 0, endMs: 2000 });
    conversation.speak('a', { text: 'Five six seven eight.', startMs: 2000, endMs: 4000 });
    expect(conversation.lastHeard()).toBe('One two three four. Five six seven eight.');
    expect(conversation.truncate('a', 3000)).toBe('ok');
    expect(conversation.lastHeard()).toBe('One two three four. Five six');
    conversation.speak('b', { text: 'Never heard.', startMs: 0, endMs: 1000 });
    expect(conversation.truncate('b', 0)).toBe('ok');
    expect(conversation.lastHeard()).toBe('One two three four. Five six');
    expect(conversation.delete('a')).toBe(true);
    expect(conversation.lastHeard()).toBeNull();
  });

  it('refuses to truncate what it does not know, what it did not say, and beyond the end', () => {
    const conversation = new Conversation(counter());
    conversation.addText('user', 'hello', 'u');
    conversation.speak('a', { text: 'Hello.', startMs: 0, endMs: 900 });
    expect(conversation.truncate('x', 0)).toBe('unknown-item');
    expect(conversation.truncate('u', 0)).toBe('unknown-item');
    expect(conversation.truncate('a', 901)).toBe('beyond-end');
    expect(conversation.history()).toEqual([
      { role: 'user', text: 'hello' },
      { role: 'assistant', text: 'Hello.' },
    ]);
  });
});

describe('the dialogue', () => {
  const book = loadPhrases(loadDictionary('en-us'));
  const tools = new Set(['current_time', 'read_file', 'list_dir', 'end_call']);
  const slots = new Map([['file', [{ words: ['notes'], value: 'my "notes".txt' }]]]);
  const situation = (more: Partial<Situation> = {}): Situation => ({
    commands: new Commands(book, tools, slots),
    tools,
    lastHeard: null,
    toolsRun: false,
    ...more,
  });
  const dialogue = () => new Dialogue(prompts, 'en-us');

  it.each([
    ['what time is it', { name: 'current_time', args: '{}' }],
    ['what files are there', { name: 'list_dir', args: '{"path":"."}' }],
    ['read the file notes', { name: 'read_file', args: String.raw`{"path":"my \"notes\".txt"}` }],
    ['please read me the password file', { name: 'read_file', args: '{"path":"/etc/passwd"}' }],
  ])('“%s” calls a tool, without a word', (text, call) => {
    expect(dialogue().answer(text, situation())).toEqual({ say: '', calls: [call] });
  });

  it('says what can be asked to who says something else, and puts it another way the second time', () => {
    const talk = dialogue();
    const first = talk.answer(null, situation()).say;
    expect(first).toBe(
      'Sorry, I did not understand that. You can say, for example: what time is it, what files are there and read the file notes.',
    );
    expect(talk.answer('something typed', situation()).say).toMatch(/^I still did not understand/);
    talk.answer('what time is it', situation());
    expect(talk.answer(null, situation()).say).toBe(first);
  });

  it('says goodbye, and ends the call only where it can', () => {
    const canEnd = dialogue().answer('goodbye', situation());
    expect(canEnd).toEqual({ say: prompts.goodbye, calls: [{ name: 'end_call', args: '{}' }] });
    const cannot = dialogue().answer('goodbye', situation({ tools: new Set() }));
    expect(cannot).toEqual({ say: prompts.goodbye, calls: [] });
  });

  it('stops what runs when it is told to, and says of it that it was cancelled', () => {
    const talk = dialogue();
    const withStop = { tools: new Set([...tools, 'stop_working']) };
    const stop = { name: 'stop_working', args: '{}' };

    expect(talk.answer('stop it', situation({ ...withStop, toolsRun: true }))).toEqual({
      say: prompts.okay,
      calls: [stop],
    });
    expect(talk.answer('stop it', situation(withStop)).calls).toEqual([]);
    expect(
      talk.report([
        {
          name: 'list_dir',
          args: '{}',
          output: 'Cancelled: the caller interrupted, and the tool was stopped.',
        },
        { ...stop, output: 'Stopped: list_dir.' },
      ]).say,
    ).toBe(prompts.toolCancelled);
  });

  it('repeats what was heard', () => {
    expect(dialogue().answer('what did you say', situation({ lastHeard: 'It is three' })).say).toBe(
      'It is three',
    );
    expect(dialogue().answer('what did you say', situation()).say).toBe(prompts.nothingToRepeat);
  });

  it('says the earlier content of a file that has not changed', () => {
    const talk = dialogue();
    const call = { name: 'read_file', args: '{"path":"a"}' };
    expect(talk.report([{ ...call, output: '1| Buy milk.' }]).say).toBe('Buy milk.');
    expect(talk.report([{ ...call, output: '[File unchanged since last read: a]' }]).say).toBe('Buy milk.');
  });

  it('reports every result of a batch, and not the end of the call', () => {
    const results = [
      { name: 'a', args: '{}', output: 'First.' },
      { name: 'end_call', args: '{}', output: 'The call ends.' },
      { name: 'b', args: '{}', output: 'Second.' },
    ];
    expect(dialogue().report(results).say).toBe('First. Second.');
  });

  it('follows instructions as far as it can', () => {
    expect(dialogue().instructed('Say exactly this: "Good evening, caller."', false).say).toBe(
      'Good evening, caller.',
    );
    expect(dialogue().instructed('Tell the caller that you are busy.', true).say).toBe(prompts.working);
    expect(dialogue().instructed('Answer the caller, or go on.', false).say).toBe(prompts.resume);
  });

  it('tells a result that came late', () => {
    expect(dialogue().noted(['Result of the earlier call of read_file: 1| Buy milk.']).say).toBe('Buy milk.');
  });
});
