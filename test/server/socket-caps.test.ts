import { describe, expect, it } from 'vitest';
import {
  MAX_UNAUTHENTICATED_SOCKETS,
  MAX_UNAUTHENTICATED_SOCKETS_PER_ADDRESS,
} from '../../src/server/index.ts';
import { SocketCaps } from '../../src/server/socket-caps.ts';

describe('the places for strangers', () => {
  it('are bounded in all, over every address', () => {
    const caps = new SocketCaps();
    const leaves = Array.from({ length: MAX_UNAUTHENTICATED_SOCKETS }, (_, n) => caps.enter(`192.0.2.${n}`));
    expect(leaves.every((leave) => leave !== null)).toBe(true);
    expect(caps.enter('198.51.100.1')).toBeNull();
    leaves[0]?.();
    expect(caps.enter('198.51.100.1')).not.toBeNull();
  });

  it('are bounded per address', () => {
    const caps = new SocketCaps();
    const leaves = Array.from({ length: MAX_UNAUTHENTICATED_SOCKETS_PER_ADDRESS }, () =>
      caps.enter('192.0.2.1'),
    );
    expect(caps.enter('192.0.2.1')).toBeNull();
    expect(caps.enter('192.0.2.2')).not.toBeNull();
    leaves[0]?.();
    expect(caps.enter('192.0.2.1')).not.toBeNull();
  });

  it('are freed once, however often that is said', () => {
    const caps = new SocketCaps();
    caps.enter('192.0.2.1');
    const leave = caps.enter('192.0.2.1');
    leave?.();
    leave?.();
    expect(caps.total).toBe(1);
  });
});
