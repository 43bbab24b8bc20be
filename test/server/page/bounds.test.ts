import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../../src/clock-virtual.ts';
import { MAX_STREAM_TOKENS, STREAM_TOKEN_TTL_MS } from '../../../src/server/index.ts';
import { AddressRate, MAX_COUNTED_ADDRESSES } from '../../../src/server/page/address-rate.ts';
import { ClientAddress } from '../../../src/server/page/client-address.ts';
import { GuestLinks, MAX_GUEST_LINKS } from '../../../src/server/page/guest-links.ts';
import { MAX_PAGE_SESSIONS, PAGE_SESSION_MS, PageSessions } from '../../../src/server/page/page-sessions.ts';
import { PageTickets } from '../../../src/server/page/page-tickets.ts';

describe('links for guests', () => {
  it('work once, in time, and so many wait at most', async () => {
    const clock = new VirtualClock();
    const links = new GuestLinks(clock);
    const made = links.make('x'.repeat(500), 60_000);
    expect(made?.link.note).toHaveLength(100);
    expect(links.take(`${made?.code}x`)).toBeNull();
    expect(links.take(made?.code ?? '')).toEqual(made?.link);
    expect(links.take(made?.code ?? '')).toBeNull();
    const late = links.make('', 60_000);
    await clock.advance(60_000);
    expect(links.take(late?.code ?? '')).toBeNull();
    for (let i = 0; i < MAX_GUEST_LINKS; i++) expect(links.make('', 60_000)).not.toBeNull();
    expect(links.make('', 60_000)).toBeNull();
    await clock.advance(60_000);
    expect(links.make('', 60_000)).not.toBeNull();
  });
});

describe('sessions of guests', () => {
  it('end by themselves; the oldest without a call gives way', async () => {
    const clock = new VirtualClock();
    const sessions = new PageSessions(clock);
    const link = (id: string) => ({ id, note: '', createdAt: 0, expiresAt: 0 });
    const first = sessions.open(link('first'));
    const second = sessions.open(link('second'));
    for (let i = 2; i < MAX_PAGE_SESSIONS; i++) sessions.open(link(`${i}`));
    sessions.isBusy = (id) => id === 'first';

    expect(sessions.open(link('new'))).not.toBeNull();

    expect(sessions.size).toBe(MAX_PAGE_SESSIONS);
    expect(sessions.find(first?.secret ?? '')).not.toBeNull();
    expect(sessions.find(second?.secret ?? '')).toBeNull();
    sessions.isBusy = () => true;
    expect(sessions.open(link('newer'))).toBeNull();
    await clock.advance(PAGE_SESSION_MS);
    expect(sessions.find(first?.secret ?? '')).toBeNull();
    expect(sessions.open(link('later'))).not.toBeNull();
    expect(sessions.size).toBe(1);
  });
});

describe('tickets of the WebSocket', () => {
  it('work once, in time, and so many wait at most', async () => {
    const clock = new VirtualClock();
    const tickets = new PageTickets(clock);
    const user = { role: 'guest', session: 's' } as const;
    const ticket = tickets.issue('call', user) ?? '';
    expect(tickets.take(ticket)).toMatchObject({ callId: 'call', user });
    expect(tickets.take(ticket)).toBeNull();
    for (let i = 0; i < MAX_STREAM_TOKENS; i++) tickets.issue('call', user);
    expect(tickets.issue('call', user)).toBeNull();
    await clock.advance(STREAM_TOKEN_TTL_MS);
    const late = tickets.issue('call', user);
    expect(late).not.toBeNull();
    expect(tickets.size).toBe(1);
  });
});

describe('what is counted of an address', () => {
  it('starts anew each minute, and remembers so many addresses', async () => {
    const clock = new VirtualClock();
    const rate = new AddressRate({ perAddress: 2, total: 10_000 }, clock);
    rate.count('a');
    expect(rate.isOver('a')).toBe(false);
    rate.count('a');
    expect([rate.isOver('a'), rate.isOver('b')]).toEqual([true, false]);
    for (let i = 0; i < MAX_COUNTED_ADDRESSES + 10; i++) rate.count(`x${i}`);
    expect(rate.size).toBe(MAX_COUNTED_ADDRESSES);
    await clock.advance(60_000);
    expect([rate.isOver('a'), rate.size]).toEqual([false, 0]);
  });

  it('is whom a proxy names, if it is one that we believe', () => {
    const direct = new ClientAddress([]);
    expect(direct.of('::ffff:198.51.100.1', '203.0.113.5')).toBe('198.51.100.1');
    const behind = new ClientAddress(['127.0.0.1', '10.0.0.0/8', 'fd00::/8']);
    expect(behind.of('127.0.0.1', null)).toBe('127.0.0.1');
    expect(behind.of('127.0.0.1', '203.0.113.5')).toBe('203.0.113.5');
    expect(behind.of('127.0.0.1', '192.0.2.66, 203.0.113.5, 10.1.2.3')).toBe('203.0.113.5');
    expect(behind.of('198.51.100.1', '203.0.113.5')).toBe('198.51.100.1');
    expect(behind.of('127.0.0.1', 'nonsense')).toBe('127.0.0.1');
    expect(behind.of('fd00::1', '2001:db8::1')).toBe('2001:db8::1');
    expect(behind.of(undefined, null)).toBe('');
  });
});
