import fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { z } from 'zod';
import { climb, type LadderFacts } from '../../src/approval/ladder.ts';
import { LateGate } from '../../src/approval/late-gate.ts';
import { nameMatcher } from '../../src/approval/patterns.ts';
import { APPROVALS_OFF_VARIABLE, compilePolicy, strictest } from '../../src/approval/policy.ts';
import { PolicyKeeper } from '../../src/approval/policy-keeper.ts';
import { VirtualClock } from '../../src/clock-virtual.ts';
import { realtimeConfigSchema } from '../../src/config.ts';
import { approvalsSchema, isGateOn, toolGateSchema } from '../../src/config-approvals.ts';
import { VoiceError } from '../../src/errors.ts';
import { silentLogger } from '../../src/observe/index.ts';

type GateInput = NonNullable<z.input<typeof toolGateSchema>>;
const gate = (input: GateInput = {}) => toolGateSchema.parse(input);
const policy = (input: GateInput) => compilePolicy(gate(input));

describe('the section approvals.toolGate', () => {
  it('is off when nothing is written, and on as soon as a tool is designated or denied', () => {
    expect(isGateOn(gate())).toBe(false);
    expect(isGateOn(gate({ requireApproval: ['x'] }))).toBe(true);
    expect(isGateOn(gate({ deny: ['x'] }))).toBe(true);
    expect(isGateOn(gate({ requireApproval: ['x'], enabled: false }))).toBe(false);
    expect(isGateOn(gate({ enabled: true }))).toBe(true);
  });

  it.each([
    ['a misspelt key', { require_approvals: ['x'] }],
    ['an entry that is no text', { requireApproval: [3] }],
    ['a blank entry', { requireApproval: [''] }],
    ['a list that is none', { requireApproval: 'delete_*' }],
    ['an unknown mode', { defaultMode: 'ask' }],
    ['an enabled that is no flag', { enabled: 'yes' }],
    ['a PIN that is too short', { approvers: [{ name: 'anna', pin: '123' }] }],
    [
      'two people with one PIN',
      {
        approvers: [
          { name: 'anna', pin: '1234' },
          { name: 'bob', pin: '1234' },
        ],
      },
    ],
    ['an input that is none', { inline: { inputs: ['mind'] } }],
  ])('with %s stops the start: a gate must not fail open', (_what, toolGate) => {
    const result = realtimeConfigSchema.safeParse({ approvals: { toolGate } });

    expect(result.success).toBe(false);
  });
});

describe('names in a list', () => {
  it('are exact first, then case-sensitive globs', () => {
    const matches = nameMatcher(['send_email', 'delete_*', 'mcp_[ab]_x', 'odd[name']);

    expect(matches('send_email')).toBe(true);
    expect(matches('Send_Email')).toBe(false);
    expect(matches('send_email_now')).toBe(false);
    expect(matches('delete_file')).toBe(true);
    expect(matches('DELETE_file')).toBe(false);
    expect(matches('mcp_a_x')).toBe(true);
    expect(matches('mcp_c_x')).toBe(false);
    expect(matches('odd[name')).toBe(true);
  });

  it('are globs in every list alike', () => {
    const { isDenied, isForcedDeferred, mayAskInline } = policy({
      deny: ['a_*'],
      forceDeferred: ['b_*'],
      allowInline: ['c_*'],
    });

    expect([isDenied('a_1'), isForcedDeferred('b_1'), mayAskInline('c_1')]).toEqual([true, true, true]);
  });

  it('with a star match every name, also of one with dots and slashes', () => {
    expect(['x', '.x', 'a/b', 'mcp_x_y'].map(nameMatcher(['*']))).toEqual([true, true, true, true]);
  });
});

describe('the ladder', () => {
  const facts = (input: GateInput, more: Partial<LadderFacts> = {}): LadderFacts => ({
    policy: policy(input),
    tool: 'delete_file',
    off: false,
    hasToken: false,
    grant: null,
    canAskInline: true,
    ...more,
  });
  const all = { requireApproval: ['delete_*'] };

  it.each<[string, LadderFacts, string, string]>([
    ['off', facts({ ...all, deny: ['*'], enabled: false }), 'off', 'allow'],
    [
      'hard deny',
      facts({ ...all, deny: ['delete_*'] }, { off: true, hasToken: true, grant: 'permanent' }),
      'deny',
      'deny',
    ],
    ['not designated', facts({ requireApproval: ['other'] }), 'not_designated', 'allow'],
    ['approvals off', facts(all, { off: true }), 'approvals_off', 'allow'],
    ['replay token', facts(all, { hasToken: true, grant: 'call' }), 'token', 'allow'],
    ['grant', facts(all, { grant: 'session' }), 'grant', 'allow'],
    [
      'no live person',
      facts({ ...all, defaultMode: 'inline', allowInline: ['*'] }, { canAskInline: false }),
      'unattended',
      'deferred',
    ],
    [
      'force deferred',
      facts({ ...all, forceDeferred: ['*'], allowInline: ['*'], defaultMode: 'inline' }),
      'force_deferred',
      'deferred',
    ],
    ['allow inline', facts({ ...all, allowInline: ['delete_file'] }), 'allow_inline', 'inline'],
    ['the default', facts({ ...all, defaultMode: 'inline' }), 'default_mode', 'inline'],
    ['the default of the default', facts(all), 'default_mode', 'deferred'],
  ])('stops at %s', (_name, given, rung, verdict) => {
    expect(climb(given)).toEqual({ rung, verdict });
  });

  it('is climbed in this order: each rung wins over all that come after it', () => {
    // Everything is true that a later rung asks for; one after the other the earlier ones are taken away.
    const everything = { off: true, hasToken: true, grant: 'call', canAskInline: true } as const;
    const gate_ = { ...all, deny: ['delete_*'], forceDeferred: ['*'], allowInline: ['*'] };
    const inline = { ...gate_, deny: [], defaultMode: 'inline' as const };
    const steps: LadderFacts[] = [
      facts({ ...gate_, enabled: false }, everything),
      facts({ ...gate_, requireApproval: ['other'] }, everything),
      facts({ ...gate_, deny: [], requireApproval: ['other'] }, everything),
      facts(inline, everything),
      facts(inline, { ...everything, off: false }),
      facts(inline, { ...everything, off: false, hasToken: false }),
      facts(inline, { canAskInline: false }),
      facts(inline),
      facts({ ...inline, forceDeferred: [], defaultMode: 'deferred' }),
      facts({ ...inline, forceDeferred: [], allowInline: [] }),
    ];

    expect(steps.map((each) => climb(each).rung)).toEqual([
      'off',
      'deny',
      'not_designated',
      'approvals_off',
      'token',
      'grant',
      'unattended',
      'force_deferred',
      'allow_inline',
      'default_mode',
    ]);
  });

  it('never lets a denied tool through, whatever else is true', () => {
    fc.assert(
      fc.property(
        fc.record({
          off: fc.boolean(),
          hasToken: fc.boolean(),
          canAskInline: fc.boolean(),
          grant: fc.constantFrom(null, 'call' as const, 'permanent' as const),
        }),
        (more) => climb(facts({ ...all, deny: ['delete_file'] }, more)).verdict === 'deny',
      ),
    );
  });
});

describe('approvals', () => {
  const manual = () => approvalsSchema.parse({ mode: 'manual' });
  afterEach(() => {
    vi.unstubAllEnvs();
    vi.resetModules();
  });
  const freshly = async () => {
    vi.resetModules();
    return import('../../src/approval/policy.ts');
  };

  it('are off by the environment as it was at start, and nothing that sets it later is obeyed', async () => {
    vi.stubEnv(APPROVALS_OFF_VARIABLE, 'off');
    const startedOff = await freshly();
    vi.stubEnv(APPROVALS_OFF_VARIABLE, '');
    const startedOn = await freshly();
    vi.stubEnv(APPROVALS_OFF_VARIABLE, 'off');

    expect(startedOff.approvalsAreOff(manual())).toBe(true);
    expect(startedOn.approvalsAreOff(manual())).toBe(false);
    expect(startedOn.approvalsAreOff(approvalsSchema.parse({ mode: 'off' }))).toBe(true);
  });

  it.each(['on', '1', 'true', 'OFF', ' off'])('are not off by “%s” in the environment', async (value) => {
    vi.stubEnv(APPROVALS_OFF_VARIABLE, value);

    expect((await freshly()).approvalsAreOff(manual())).toBe(false);
  });
});

describe('a gate that comes after the start', () => {
  const late = (offered: GateInput, off = false) => {
    const keeper = new PolicyKeeper({
      initial: gate(),
      clock: new VirtualClock(),
      logger: silentLogger,
      holdsShell: true,
    });
    const lateGate = new LateGate(keeper, off);
    expect(lateGate.concerns('delete_file')).toBe(false);
    keeper.offer(gate(offered));
    return lateGate;
  };
  const call = { sessionKey: 's', channel: 'c', chatId: '1', args: {} };

  it('refuses what it designates and denies, and lets the rest pass', async () => {
    const lateGate = late({ requireApproval: ['delete_*'], deny: ['pay'] });

    expect(['delete_file', 'pay', 'read_file'].map((name) => lateGate.concerns(name))).toEqual([
      true,
      true,
      false,
    ]);
    for (const name of ['delete_file', 'pay'])
      expect(await lateGate.check({ ...call, name })).toMatchObject({
        run: false,
        result: { isError: true },
      });
    expect(await lateGate.check({ ...call, name: 'read_file' })).toEqual({ run: true });
  });

  it('holds a shell back, by which the rest could be done, unless that is written to be so', () => {
    expect(late({ requireApproval: ['delete_*'] }).concerns('exec')).toBe(true);
    expect(late({ requireApproval: ['delete_*'], unsafe: true }).concerns('exec')).toBe(false);
  });

  it('or an edit that takes “unsafe” away, holds an unguarded shell back, and no shell of a host that guards it', () => {
    for (const holdsShell of [true, false]) {
      const kept = new PolicyKeeper({
        initial: gate({ requireApproval: ['a'], unsafe: true }),
        clock: new VirtualClock(),
        logger: silentLogger,
        holdsShell,
      });
      expect(kept.current.isDenied('exec')).toBe(false);
      kept.offer(gate({ requireApproval: ['a'] }));
      expect(kept.current.isDenied('exec')).toBe(holdsShell);
    }
  });

  it('denies only, where approvals are off for this process', () => {
    const lateGate = late({ requireApproval: ['delete_*'], deny: ['pay'] }, true);

    expect([lateGate.concerns('delete_file'), lateGate.concerns('pay')]).toEqual([false, true]);
  });
});

describe('an edit of the policy while it is in force', () => {
  const keeper = (input: GateInput) =>
    new PolicyKeeper({ initial: gate(input), clock: new VirtualClock(), logger: silentLogger });

  it('applies at once as far as it tightens', () => {
    const kept = keeper({ requireApproval: ['a'] });

    expect(kept.offer(gate({ requireApproval: ['a', 'b'], deny: ['c'] }))).toBe('applied');

    expect(kept.current.isDesignated('b')).toBe(true);
    expect(kept.current.isDenied('c')).toBe(true);
    expect(kept.isWaiting).toBe(false);
  });

  it('waits as far as it loosens, until an operator confirms', () => {
    const kept = keeper({ requireApproval: ['a', 'b'] });

    expect(kept.offer(gate({ requireApproval: ['a'] }))).toBe('waiting');
    expect(kept.current.isDesignated('b')).toBe(true);
    expect(kept.isWaiting).toBe(true);
    expect(kept.confirm()).toBe(true);

    expect(kept.current.isDesignated('b')).toBe(false);
    expect(kept.confirm()).toBe(false);
  });

  it('that does both tightens now and loosens later', () => {
    const kept = keeper({ requireApproval: ['a'] });

    expect(kept.offer(gate({ requireApproval: ['b'] }))).toBe('tightened');

    expect([kept.current.isDesignated('a'), kept.current.isDesignated('b')]).toEqual([true, true]);
  });

  it('that turns the gate off waits', () => {
    const kept = keeper({ requireApproval: ['a'] });
    kept.offer(gate({ requireApproval: ['a'], enabled: false }));

    expect(kept.current.enabled).toBe(true);
    expect(kept.current.isDesignated('a')).toBe(true);
  });

  it('never lets more people decide: a list without anybody in common is nobody, not everybody', () => {
    const kept = keeper({ requireApproval: ['a'], approvers: [{ name: 'anna', pin: '1234' }] });

    expect(kept.offer(gate({ requireApproval: ['a'], approvers: [{ name: 'bob', pin: '5678' }] }))).toBe(
      'tightened',
    );
    const { approvers } = kept.current.config;
    expect(approvers).toHaveLength(1);
    expect(approvers[0]).toEqual({ name: '(nobody)', senders: [], webhookUsers: [] });
    kept.confirm();
    expect(kept.current.config.approvers.map(({ name }) => name)).toEqual(['bob']);
  });

  it('from everybody to a list holds at once, and no further than a login goes', () => {
    const kept = keeper({ requireApproval: ['a'] });

    kept.offer(gate({ requireApproval: ['a'], approvers: [{ name: 'anna', pin: '1234' }] }));

    expect(kept.current.config.approvers).toEqual([{ name: 'anna', senders: [], webhookUsers: [] }]);
    expect(kept.isWaiting).toBe(true);
  });

  it('from a list to everybody waits', () => {
    const kept = keeper({ requireApproval: ['a'], approvers: [{ name: 'anna' }] });

    expect(kept.offer(gate({ requireApproval: ['a'] }))).toBe('waiting');
    expect(kept.current.config.approvers.map(({ name }) => name)).toEqual(['anna']);
  });

  it('brings no input on the line, no chat and no signing secret that there was not', () => {
    const hook = (secret: string) => ({ kind: 'signed' as const, url: 'https://example.com/hook', secret });
    const with_ = (
      inputs: ('button' | 'keypad' | 'speech')[],
      notify: string,
      secret: string,
    ): GateInput => ({
      requireApproval: ['a'],
      inline: { inputs },
      deferred: { card: { notify: [notify], webhooks: [hook(secret)] } },
    });
    const kept = keeper(with_(['keypad'], 'telegram:1', 'x'.repeat(16)));

    kept.offer(gate(with_(['speech'], 'telegram:2', 'y'.repeat(16))));

    const { inline, deferred } = kept.current.config;
    expect([inline.inputs, deferred.card.notify, deferred.card.webhooks]).toEqual([[], [], []]);
  });

  it('that is taken back is no edit any more', () => {
    const kept = keeper({ requireApproval: ['a', 'b'] });
    kept.offer(gate({ requireApproval: ['a'] }));
    kept.offer(gate({ requireApproval: ['a', 'b'] }));

    expect(kept.isWaiting).toBe(false);
    expect(kept.current.isDesignated('b')).toBe(true);
  });

  it('never makes anything looser than it was, in 3,000 random pairs', () => {
    const names = fc.subarray(['a', 'b_x', 'b_*', 'c', '*']);
    const input = fc.constantFrom('button', 'keypad', 'speech');
    const anyGate = fc.record({
      enabled: fc.constantFrom(undefined, true, false),
      requireApproval: names,
      deny: names,
      forceDeferred: names,
      allowInline: names,
      defaultMode: fc.constantFrom('inline', 'deferred'),
      separateRequester: fc.boolean(),
      inline: fc.record({
        minimum: fc.dictionary(fc.constantFrom('a', 'c'), input),
        timeoutS: fc.constantFrom(10, 60),
      }),
    });
    const parse = (value: object) => gate(JSON.parse(JSON.stringify(value)) as GateInput);
    const rank = { allow: 0, inline: 1, deferred: 2, deny: 3 };
    fc.assert(
      fc.property(anyGate, anyGate, fc.constantFrom('a', 'b_x', 'b_y', 'c', 'd'), (one, two, tool) => {
        const [a, b] = [parse(one), parse(two)];
        const verdict = (config: typeof a) =>
          climb({
            policy: compilePolicy(config),
            tool,
            off: false,
            hasToken: false,
            grant: null,
            canAskInline: true,
          }).verdict;
        const both = strictest(a, b);
        const min = (config: typeof a) =>
          ['button', 'keypad', 'speech'].indexOf(compilePolicy(config).minimumInput(tool));
        expect(rank[verdict(both)]).toBeGreaterThanOrEqual(Math.max(rank[verdict(a)], rank[verdict(b)]));
        expect(min(both)).toBeLessThanOrEqual(Math.min(min(a), min(b)));
        expect(both.separateRequester).toBe(a.separateRequester || b.separateRequester);
      }),
      { numRuns: 3000, seed: 4 },
    );
  });

  it('that is broken keeps the last good policy', async () => {
    let file: () => GateInput = () => {
      throw new VoiceError('CONFIG_UNREADABLE', 'no JSON');
    };
    const kept = new PolicyKeeper({
      initial: gate({ requireApproval: ['a'] }),
      clock: new VirtualClock(),
      logger: silentLogger,
      reload: async () => gate(file()),
    });

    await kept.look();
    expect(kept.isBroken).toBe(true);
    expect(kept.current.isDesignated('a')).toBe(true);
    file = () => ({ requireApproval: ['a'], deny: ['b'] });
    await kept.look();

    expect(kept.isBroken).toBe(false);
    expect(kept.current.isDenied('b')).toBe(true);
  });
});
