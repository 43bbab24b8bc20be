import { describe, expect, it } from 'vitest';
import {
  MAX_BAD_MESSAGES,
  MAX_COMMANDS_PER_SECOND,
  MAX_SHOWN_CHARS,
  MAX_WAITING_EVENTS,
  MessageJoiner,
  type PageCommand,
  PageLink,
  type PageRole,
  pageEventSchema,
  SHOW_HIGH_WATER_BYTES,
} from '../../../src/leg/page/index.ts';

function open(role: PageRole = 'owner') {
  const clock = { now: 0 };
  const transport = {
    bufferedAmount: 0,
    isOpen: true,
    wire: [] as string[],
    send(text: string) {
      this.wire.push(text);
    },
  };
  const link = new PageLink(role, () => clock.now);
  const commands: PageCommand[] = [];
  link.on('command', (command) => commands.push(command));
  link.opened(transport);
  const say = (value: unknown) => link.receive(JSON.stringify(value));
  const told = () => {
    const joiner = new MessageJoiner();
    return transport.wire
      .map((wire) => joiner.join(wire))
      .filter((value) => value !== undefined)
      .map((value) => pageEventSchema.parse(value));
  };
  return { link, transport, commands, say, told, clock };
}

const hello = { type: 'hello', v: 1 };

describe('the link to a page', () => {
  it('tells nothing before the page said hello, then everything in order', () => {
    const { link, say, told } = open();
    link.show({ type: 'state', state: 'speaking' });
    link.show({ type: 'heard', itemId: 'a', text: 'Good' });
    expect(told()).toEqual([]);

    say(hello);

    expect(told().map((event) => event.type)).toEqual(['state', 'heard']);
  });

  it('shows an owner arguments and results, and a guest neither', () => {
    for (const role of ['owner', 'guest'] as const) {
      const { link, say, transport } = open(role);
      say(hello);

      link.show({
        type: 'tool',
        callId: 'c',
        name: 'read_file',
        phase: 'started',
        args: '{"path":"notes.md"}',
      });
      link.show({
        type: 'tool',
        callId: 'c',
        name: 'read_file',
        phase: 'ended',
        output: 'milk',
        isError: false,
      });

      const sent = transport.wire.join('');
      expect(sent.includes('notes.md')).toBe(role === 'owner');
      expect(sent.includes('milk')).toBe(role === 'owner');
    }
  });

  it('cuts what is too long to be shown, and says so', () => {
    const { link, say, told } = open();
    say(hello);

    link.show({ type: 'heard', itemId: 'a', text: 'x'.repeat(MAX_SHOWN_CHARS + 5) });

    expect(told()[0]).toMatchObject({ text: expect.stringContaining('[5 more characters]') });
  });

  it('hands on what the page says, hello first, and refuses everything else', () => {
    const { say, commands, told } = open();

    say({ type: 'text', text: 'too early' });
    say(hello);
    say({ type: 'text', text: '  read it  ' });
    say({ type: 'dtmf', digit: '12' });
    say({ type: 'approval.decide', id: 'f'.repeat(32), approve: true });
    say({ type: 'launch' });

    expect(commands).toEqual([
      { type: 'hello', v: 1, shown: [] },
      { type: 'text', text: 'read it' },
      { type: 'approval.decide', id: 'f'.repeat(32), approve: true, scope: 'once' },
    ]);
    expect(told().filter((event) => event.type === 'error')).toHaveLength(3);
  });

  it('answers pings by itself', () => {
    const { say, told } = open();
    say(hello);
    say({ type: 'ping', n: 7 });
    expect(told()).toEqual([{ type: 'pong', n: 7 }]);
  });

  it('takes so many messages in a second and no more', () => {
    const { say, commands, clock } = open();
    say(hello);
    for (let i = 0; i < MAX_COMMANDS_PER_SECOND + 5; i++) say({ type: 'mute', muted: true });
    expect(commands).toHaveLength(MAX_COMMANDS_PER_SECOND);
    clock.now = 1000;
    say({ type: 'mute', muted: false });
    expect(commands).toHaveLength(MAX_COMMANDS_PER_SECOND + 1);
  });

  it('stops listening to a page that talks nonsense', () => {
    const { link, commands, say } = open();
    let refused = 0;
    link.on('refused', () => refused++);
    say(hello);
    for (let i = 0; i < MAX_BAD_MESSAGES + 5; i++) link.receive('nonsense');
    say({ type: 'mute', muted: true });
    expect(refused).toBe(1);
    expect(commands).toHaveLength(1);
  });

  it('leaves out what can be left out while the channel is full, and nothing else', () => {
    const { link, say, transport, told } = open();
    say(hello);
    transport.bufferedAmount = SHOW_HIGH_WATER_BYTES + 1;

    link.show({ type: 'state', state: 'speaking' });
    link.show({ type: 'heard', itemId: 'a', text: 'Good' });

    expect(told().map((event) => event.type)).toEqual(['heard']);
    expect(link.dropped).toBe(1);
  });

  it('holds so many events for a page that says nothing, the important ones longest', () => {
    const { link, say, told } = open();
    link.show({ type: 'heard', itemId: 'kept', text: 'Good' });
    for (let i = 0; i < MAX_WAITING_EVENTS + 10; i++) link.show({ type: 'state', state: 'speaking' });

    say(hello);

    expect(told()).toHaveLength(MAX_WAITING_EVENTS);
    expect(told()[0]).toMatchObject({ itemId: 'kept' });
  });
});
