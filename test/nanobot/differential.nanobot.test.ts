/**
 * Over two hundred calls, answered by our embedded host and by the real nanobot, byte for byte. What is meant to differ is in
 * differences.json, with its reason.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { WorkspacePolicy } from '../../src/host/guards/index.ts';
import {
  createBuiltinTools,
  FileStateStore,
  SsrfPolicy,
  ToolRegistry,
  ToolRunner,
} from '../../src/host/index.ts';
import { callsFor, type NamedCall } from './calls.ts';
import { python, ROOT } from './nanobot.ts';
import { makeWorkspace } from './workspace.ts';

const output = z.object({
  output: z.union([z.string(), z.array(z.record(z.string(), z.unknown()))]),
  isError: z.boolean(),
});
type Output = z.output<typeof output>;

/** Either what is taken out of both answers before they are compared, or calls that are not compared at all. */
const difference = z.strictObject({
  calls: z.array(z.string()).min(1),
  reason: z.string().min(20),
  ignore: z.string().optional(),
  host: z.string().optional(),
  nanobot: z.string().optional(),
});
const DIFFERENCES = z
  .array(difference)
  .parse(JSON.parse(readFileSync(join(import.meta.dirname, 'differences.json'), 'utf8')));

const base = realpathSync(mkdtempSync(join(tmpdir(), 'nanobot-diff-')));
const root = join(base, 'workspace');
const config = join(base, 'home', 'config.json');
// As they travel: what JSON can't carry is not there.
const calls = callsFor(root).map((call) => JSON.parse(JSON.stringify(call)) as NamedCall);
const answers: Record<'host' | 'full' | 'public', Output[]> = { host: [], full: [], public: [] };

function nanobotAnswers(level: 'full' | 'public'): Output[] {
  makeWorkspace(root);
  const ran = spawnSync(python(), ['-m', 'tests.differential', level], {
    cwd: join(ROOT, 'python'),
    input: JSON.stringify({ config, calls: calls.map(({ name, args }) => [name, args]) }),
    encoding: 'utf8',
    maxBuffer: 256 * 1024 * 1024,
    env: { PATH: process.env.PATH ?? '', HOME: join(base, 'home') },
  });
  if (ran.status !== 0) throw new Error(ran.stderr);
  return z.array(output).parse(JSON.parse(ran.stdout));
}

async function hostAnswers(): Promise<Output[]> {
  makeWorkspace(root);
  const policy = new WorkspacePolicy({ workspace: root, home: join(base, 'home') });
  const registry = new ToolRegistry();
  const tools = createBuiltinTools({
    policy,
    ssrf: new SsrfPolicy(),
    exec: { enable: true },
    publishOutbound: () => {},
  });
  for (const tool of tools) registry.register(tool);
  const runner = new ToolRunner({
    registry,
    sessions: {
      get: async (key) => ({ key, createdAt: 0, updatedAt: 0, metadata: {}, rows: [] }) as never,
    },
    fileStates: new FileStateStore(),
    workspace: root,
    restrictToWorkspace: true,
  });
  const given: Output[] = [];
  for (const { name, args } of calls) {
    const options = { channel: 'realtime', chatId: 'd', signal: AbortSignal.timeout(30_000) };
    const { content, isError } = await runner.executeTool('realtime:d', name, args, options);
    given.push({
      output: typeof content === 'string' ? content : content.map((block) => ({ ...block })),
      isError,
    });
  }
  return given;
}

const used = new Set<z.output<typeof difference>>();
const fits = (pattern: string, id: string) =>
  pattern === id || (pattern.endsWith('/*') && id.startsWith(pattern.slice(0, -1)));

/** Both answers as they are compared; `null` when the difference is on purpose, and just this one. */
function compared({ id }: NamedCall, host: Output, real: Output): [unknown, unknown] | null {
  let [mine, theirs] = [JSON.stringify(host), JSON.stringify(real)];
  for (const entry of DIFFERENCES.filter(({ calls: ids }) => ids.some((pattern) => fits(pattern, id)))) {
    if (entry.ignore !== undefined) {
      const pattern = new RegExp(entry.ignore, 'g');
      const [before, others] = [mine, theirs];
      [mine, theirs] = [mine.replaceAll(pattern, ''), theirs.replaceAll(pattern, '')];
      if (mine !== before || theirs !== others) used.add(entry);
    } else if (
      new RegExp(entry.host ?? '').test(textOf(host)) &&
      new RegExp(entry.nanobot ?? '').test(textOf(real)) &&
      mine !== theirs
    ) {
      used.add(entry);
      return null;
    }
  }
  return [JSON.parse(mine), JSON.parse(theirs)];
}

const textOf = ({ output: given }: Output) => (typeof given === 'string' ? given : JSON.stringify(given));

beforeAll(async () => {
  mkdirSync(join(base, 'home'), { recursive: true });
  writeFileSync(
    config,
    JSON.stringify({
      agents: { defaults: { workspace: root } },
      tools: { restrictToWorkspace: true },
      channels: { websocket: { enabled: false } },
    }),
  );
  answers.full = nanobotAnswers('full');
  answers.public = nanobotAnswers('public');
  answers.host = await hostAnswers();
}, 180_000);

afterAll(() => rmSync(base, { recursive: true, force: true }));

describe('the embedded host answers as nanobot does', () => {
  it('over at least two hundred calls', () => {
    expect(calls.length).toBeGreaterThanOrEqual(200);
    expect(new Set(calls.map(({ id }) => id)).size).toBe(calls.length);
    for (const given of Object.values(answers)) expect(given).toHaveLength(calls.length);
  });

  it('nanobot itself at level A and at level B', () => {
    const differing = calls.flatMap((call, at) =>
      JSON.stringify(answers.full[at]) === JSON.stringify(answers.public[at]) ? [] : [call.id],
    );
    // The list of tools that an unknown one is answered with is the only thing that may differ.
    expect(differing.filter((id) => !id.startsWith('unknown/'))).toEqual([]);
  });

  it.each(calls.map((call, at) => [call.id, JSON.stringify(call.args)?.slice(0, 60), call, at] as const))(
    '%s %s',
    (_id, _args, call, at) => {
      for (const level of ['full', 'public'] as const) {
        const pair = compared(call, answers.host[at]!, answers[level][at]!);
        if (pair) expect(pair[0]).toEqual(pair[1]);
      }
    },
  );

  it('and every difference that is listed is one', () => {
    expect(DIFFERENCES.filter((entry) => !used.has(entry))).toEqual([]);
  });
});
