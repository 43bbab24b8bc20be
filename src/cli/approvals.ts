/**
 * `nanobot-realtime approvals`: what waits for a person, and the decision, through the running gateway's own interface.
 *
 * @module
 */

import type { Command } from 'commander';
import { z } from 'zod';
import { VoiceError } from '../errors.ts';
import { askGateway, OPERATOR_VARIABLE } from './gateway-client.ts';
import { type GatewayCommandFlags as Flags, gatewayCommand, print, timeText } from './gateway-commands.ts';

const HELP = `
What it needs
  A running gateway (start) with a gate, and the operator's token: in ${OPERATOR_VARIABLE}, or in a file named by
  --token-file. The token was printed once, when the gateway first started with a gate.

Examples:
  $ nanobot-realtime approvals list
  $ nanobot-realtime approvals show 3f2a90c1
  $ nanobot-realtime approvals approve 3f2a90c1
  $ nanobot-realtime approvals approve 3f2a90c1 --session
  $ nanobot-realtime approvals deny 3f2a90c1 --reason "not on a Friday"
  $ nanobot-realtime approvals token             makes a new token; the old one and every login end
`;

export function registerApprovals(program: Command): void {
  const group = program
    .command('approvals')
    .summary('see and decide what waits for a person')
    .description('Shows what waits for a person’s approval, and decides it.')
    .addHelpText('after', HELP);
  const sub = (name: string, text: string) => gatewayCommand(group, name, text);
  sub('list', 'what waits, runs, or needs a look')
    .option('--all', 'also what is over')
    .action((flags: Flags & { all?: boolean }) => list(flags));
  sub('show <id>', 'one request, with what happened to it').action((id: string, flags: Flags) =>
    show(id, flags),
  );
  sub('approve <id>', 'approve it: once, unless said otherwise')
    .option('--for-call', 'and the same tool for the rest of that call')
    .option('--session', 'and the same tool in that session')
    .option('--always', 'and the same tool for good')
    .option('--bind <argument...>', 'bind the grant to the values of these arguments')
    .action((id: string, flags: ApproveFlags) => approve(id, flags));
  sub('deny <id>', 'deny it')
    .option('--reason <text>', 'why; the agent is told')
    .action((id: string, flags: Flags & { reason?: string }) => deny(id, flags));
  sub('close <id>', 'say what became of a run whose outcome is unknown; runs nothing')
    .option('--happened', 'it took effect')
    .option('--did-not-happen', 'it did not')
    .action((id: string, flags: Flags & { happened?: boolean; didNotHappen?: boolean }) => close(id, flags));
  sub('grants', 'standing grants').action((flags: Flags) => grants(flags));
  sub('revoke <grant>', 'take a grant back').action((id: string, flags: Flags) => revoke(id, flags));
  sub('confirm-policy', 'let a looser edit of the config hold without a restart').action((flags: Flags) =>
    confirm(flags),
  );
  group
    .command('token')
    .description('make a new operator’s token and print it once')
    .option('-c, --config <file>', 'nanobot’s config file (default: ~/.nanobot/config.json)')
    .action((flags: Flags) => token(flags));
}

interface ApproveFlags extends Flags {
  readonly forCall?: boolean;
  readonly session?: boolean;
  readonly always?: boolean;
  readonly bind?: string[];
}

const cardSchema = z.looseObject({
  id: z.string(),
  column: z.string(),
  tool: z.string(),
  summary: z.string(),
  arguments: z.unknown(),
  requester: z.string().nullable(),
  callId: z.string().nullable(),
  createdAt: z.number(),
  expiresAt: z.number(),
  decidedBy: z.string().nullable(),
  reason: z.string().nullable(),
  outcome: z.string().nullable(),
});
type Card = z.output<typeof cardSchema>;

const listSchema = z.looseObject({
  approvals: z.array(cardSchema),
  policy: z.looseObject({ editWaits: z.boolean(), editBroken: z.boolean() }),
});

async function list(flags: Flags & { all?: boolean }): Promise<void> {
  const answer = await request(flags, 'GET', flags.all ? 'approvals?all' : 'approvals');
  if (flags.json) return print(JSON.stringify(answer, null, 2));
  const { approvals, policy } = listSchema.parse(answer);
  if (policy.editBroken) print('The config file can not be read as it is now; the last good policy holds.\n');
  if (policy.editWaits)
    print('The config file holds a looser policy, which waits for a restart or for confirm-policy.\n');
  if (approvals.length === 0) return print(flags.all ? 'There is nothing.' : 'Nothing waits.');
  for (const each of approvals)
    print(`${each.id.slice(0, 8)}  ${each.column.padEnd(9)}  ${timeText(each.createdAt)}  ${each.summary}`);
}

async function show(id: string, flags: Flags): Promise<void> {
  const answer = await request(flags, 'GET', `approvals/${encodeURIComponent(id)}`);
  if (flags.json) return print(JSON.stringify(answer, null, 2));
  const events = z.array(
    z.object({ at: z.number(), kind: z.string(), by: z.string().nullable(), input: z.string().nullable() }),
  );
  const parsed = z.looseObject({ approval: cardSchema, events }).parse(answer);
  print(describe(parsed.approval));
  for (const { at, kind, by, input } of parsed.events) {
    print(
      `  ${timeText(at)}  ${kind}${by === null ? '' : ` by ${by}`}${input === null ? '' : ` (${input})`}`,
    );
  }
}

function describe(card: Card): string {
  return [
    `${card.column}: ${card.summary}`,
    `  request    ${card.id}`,
    `  arguments  ${JSON.stringify(card.arguments)}`,
    `  asked by   ${card.requester ?? 'unknown'}, ${card.callId === null ? 'on no call' : `on call ${card.callId}`}`,
    `  created    ${timeText(card.createdAt)}, waits until ${timeText(card.expiresAt)} (UTC)`,
    ...(card.decidedBy === null ? [] : [`  decided by ${card.decidedBy}`]),
    ...(card.reason === null ? [] : [`  reason     ${card.reason}`]),
    ...(card.outcome === null ? [] : [`  result     ${card.outcome}`]),
  ].join('\n');
}

async function approve(id: string, flags: ApproveFlags): Promise<void> {
  const chosen = [flags.forCall && 'call', flags.session && 'session', flags.always && 'permanent'].filter(
    Boolean,
  );
  if (chosen.length > 1)
    throw new VoiceError('REQUEST_INVALID', 'Only one of --for-call, --session and --always.');
  const scope = chosen[0] ?? 'once';
  await decide(id, flags, {
    decision: 'approve',
    scope,
    ...(flags.bind ? { bindArguments: flags.bind } : {}),
  });
}

function deny(id: string, flags: Flags & { reason?: string }): Promise<void> {
  return decide(id, flags, { decision: 'deny', ...(flags.reason ? { reason: flags.reason } : {}) });
}

async function decide(id: string, flags: Flags, body: object): Promise<void> {
  const answer = await request(flags, 'POST', `approvals/${encodeURIComponent(id)}/decision`, body);
  const { approval } = z.looseObject({ approval: cardSchema }).parse(answer);
  print(flags.json ? JSON.stringify(answer, null, 2) : `${approval.column}: ${approval.summary}`);
}

async function close(
  id: string,
  flags: Flags & { happened?: boolean; didNotHappen?: boolean },
): Promise<void> {
  if (flags.happened === flags.didNotHappen)
    throw new VoiceError('REQUEST_INVALID', 'Say which: --happened or --did-not-happen.');
  const resolution = flags.happened ? 'happened' : 'did_not_happen';
  await request(flags, 'POST', `approvals/${encodeURIComponent(id)}/resolution`, { resolution });
  print('Closed. Nothing was run.');
}

async function grants(flags: Flags): Promise<void> {
  const answer = await request(flags, 'GET', 'grants');
  if (flags.json) return print(JSON.stringify(answer, null, 2));
  const row = z.looseObject({
    id: z.string(),
    tool: z.string(),
    scope: z.string(),
    args: z.string(),
    createdBy: z.string(),
  });
  const parsed = z.object({ grants: z.array(row) }).parse(answer);
  if (parsed.grants.length === 0) return print('There are none.');
  for (const each of parsed.grants)
    print(`${each.id}  ${each.scope.padEnd(9)}  ${each.tool} ${each.args}  by ${each.createdBy}`);
}

async function revoke(id: string, flags: Flags): Promise<void> {
  await request(flags, 'POST', `grants/${encodeURIComponent(id)}/revoke`, {});
  print('Revoked.');
}

async function confirm(flags: Flags): Promise<void> {
  const answer = await request(flags, 'POST', 'policy/confirm', {});
  const { confirmed } = z.object({ confirmed: z.boolean() }).parse(answer);
  print(confirmed ? 'The config as it stands holds now.' : 'There was no edit that waits.');
}

async function token(flags: Flags): Promise<void> {
  const [{ loadConfig }, { OperatorSecret }] = await Promise.all([
    import('../host/index.ts'),
    import('../approval/index.ts'),
  ]);
  const config = await loadConfig(flags.config === undefined ? {} : { path: flags.config });
  const { realClock } = await import('../clock.ts');
  const made = await new OperatorSecret(config.host.dataDir).renew(realClock.wallNow());
  print(made);
}

/** @throws VoiceError with the gateway's own code and words, or `HOST_UNAVAILABLE` when nobody answers */
async function request(flags: Flags, method: 'GET' | 'POST', path: string, body?: object): Promise<unknown> {
  const { status, json, code, message, base } = await askGateway(
    flags,
    method,
    `/operator/api/${path}`,
    body,
  );
  if (status < 300) return json;
  if (status === 404 && code === 'ROUTE_NOT_FOUND')
    throw new VoiceError(
      'ROUTE_NOT_FOUND',
      `The gateway at ${base} has no gate: its config designates no tool.`,
    );
  throw new VoiceError(
    status === 401 ? 'OPERATOR_AUTH_REQUIRED' : status === 404 ? 'APPROVAL_NOT_FOUND' : 'APPROVAL_REFUSED',
    message ?? `The gateway answered with status ${status}.`,
  );
}
