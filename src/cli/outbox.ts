/**
 * `nanobot-realtime outbox`: what is on its way to callers, and what is to become of what got stuck.
 *
 * @module
 */

import { type Command, InvalidArgumentError } from 'commander';
import { VoiceError } from '../errors.ts';
import { loadConfig } from '../host/index.ts';
import { deliveryAudit } from '../media/index.ts';
import { type FullStore, OUTBOX_STATUSES, type OutboxRow, type OutboxStatus } from '../store/index.ts';
import { openConfiguredStore } from './store.ts';

interface OutboxFlags {
  readonly config?: string;
  readonly status?: OutboxStatus;
  readonly limit?: number;
}

const HELP = `
Where a delivery stands
  pending, retryable   will be sent, or sent again
  sending              under way
  unknown              an attempt whose end nobody saw: asked about, and never sent again by itself
  sent, dead_letter    done; the last column says why not

Numbers, links and what providers said are never shown.

Examples:
  $ nanobot-realtime outbox list
  $ nanobot-realtime outbox list --status dead_letter
  $ nanobot-realtime outbox show 3hF9x2_kQm0aZt1B
  $ nanobot-realtime outbox retry 3hF9x2_kQm0aZt1B     send again, also what is unknown: it may arrive twice
  $ nanobot-realtime outbox drop 3hF9x2_kQm0aZt1B      give up
`;

export function registerOutbox(program: Command): void {
  const outbox = program
    .command('outbox')
    .summary('what was sent to callers, and what got stuck')
    .description('Pictures and files on their way to callers: look at them, send again, give up.')
    .addHelpText('after', HELP);
  const config = ['-c, --config <file>', 'nanobot’s config file (default: ~/.nanobot/config.json)'] as const;
  outbox
    .command('list')
    .description('the newest deliveries, one a line')
    .option(...config)
    .option('-s, --status <status>', `only these: ${OUTBOX_STATUSES.join(', ')}`, statusOf)
    .option('-n, --limit <number>', 'how many', limitOf, 20)
    .action((flags: OutboxFlags) => withStore(flags, (store) => list(store, flags)));
  outbox
    .command('show <id>')
    .description('everything about one that may be shown')
    .option(...config)
    .action((id: string, flags: OutboxFlags) =>
      withStore(flags, async (store) => details(await find(store, id))),
    );
  outbox
    .command('retry <id>')
    .description('send again what failed or what nobody can tell about')
    .option(...config)
    .action((id: string, flags: OutboxFlags) => withStore(flags, (store) => retry(store, id)));
  outbox
    .command('drop <id>')
    .description('give up; what comes after it in the same reply is given up too')
    .option(...config)
    .action((id: string, flags: OutboxFlags) => withStore(flags, (store) => drop(store, id)));
}

async function withStore(flags: OutboxFlags, work: (store: FullStore) => Promise<string>): Promise<void> {
  const config = await loadConfig(flags.config === undefined ? {} : { path: flags.config });
  const store = await openConfiguredStore(config);
  try {
    process.stdout.write(await work(store));
  } finally {
    await store.close();
  }
}

async function list(store: FullStore, { status, limit = 20 }: OutboxFlags): Promise<string> {
  const rows = await store.listOutbox({ limit, ...(status !== undefined && { status: [status] }) });
  if (rows.length === 0) return 'Nothing is in the outbox.\n';
  const now = Date.now();
  const cells = rows.map((row) => [
    row.deliveryId,
    stateOf(row),
    row.kind,
    row.deliveredBy ?? row.attemptRoute ?? row.target.route,
    `${row.attempts}`,
    ageOf(now - row.createdAt),
    row.lastError ?? '',
  ]);
  return table([['DELIVERY', 'STATE', 'KIND', 'ROUTE', 'TRIES', 'AGE', 'WHY'], ...cells]);
}

function details(row: OutboxRow): string {
  const time = (at: number | null) => (at === null ? '–' : new Date(at).toISOString());
  return table([
    ['delivery', row.deliveryId],
    ['call, turn, segment', `${row.event.callId}, ${row.event.turn}, ${row.segment}`],
    ['state', stateOf(row)],
    ['kind', row.kind],
    ['meant for', row.target.route],
    ['last tried by', row.attemptRoute ?? '–'],
    ['reached by', row.deliveredBy ?? '–'],
    ['the carrier says', row.receipt ?? '–'],
    ['tries', `${row.attempts}`],
    ['why not', row.lastError ?? '–'],
    ['made', time(row.createdAt)],
    ['last tried', time(row.attemptAt)],
    ['next look', isDone(row) ? '–' : time(Math.max(row.availableAt, row.leaseUntil ?? 0))],
    ['done', time(row.finishedAt)],
    ['kept until', time(row.expiresAt)],
    ['link opened', `${row.opens} times`],
    ['request, trace', `${row.requestId}, ${row.traceId}`],
  ]);
}

async function retry(store: FullStore, id: string): Promise<string> {
  const row = await find(store, id);
  if (!(await store.retryOutbox(id, Date.now())))
    throw new VoiceError('STORE_CONFLICT', `${id} is ${stateOf(row)}, or too old: it can't be sent again.`);
  await note(store, row, 'retry');
  return `${id} will be sent again.\n`;
}

async function drop(store: FullStore, id: string): Promise<string> {
  const row = await find(store, id);
  if (!(await store.dropOutbox(id, Date.now())))
    throw new VoiceError('STORE_CONFLICT', `${id} is ${stateOf(row)}: there is nothing to give up.`);
  await note(store, row, 'drop');
  return `${id} is given up.\n`;
}

async function note(store: FullStore, row: OutboxRow, detail: 'retry' | 'drop'): Promise<void> {
  const at = Date.now();
  await store.addMediaAudit(deliveryAudit('delivery.operator', row, at, detail));
}

async function find(store: FullStore, id: string): Promise<OutboxRow> {
  const row = await store.getOutbox(id);
  if (!row)
    throw new VoiceError(
      'MEDIA_NOT_FOUND',
      `There is no delivery '${id}'; outbox list shows which there are.`,
    );
  return row;
}

/** What a person calls it. */
function stateOf(row: OutboxRow): string {
  return row.status === 'sending' && row.lastError === 'unknown' ? 'unknown' : row.status;
}

const isDone = ({ status }: OutboxRow) => status === 'sent' || status === 'dead_letter';

function ageOf(ms: number): string {
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 1) return `${Math.max(0, Math.floor(ms / 1000))} s`;
  if (minutes < 60) return `${minutes} min`;
  return minutes < 48 * 60 ? `${Math.floor(minutes / 60)} h` : `${Math.floor(minutes / 1440)} d`;
}

function table(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows
    .map(
      (row) =>
        `${row
          .map((cell, column) => cell.padEnd(widths[column] ?? 0))
          .join('  ')
          .trimEnd()}\n`,
    )
    .join('');
}

function statusOf(text: string): OutboxStatus {
  const status = OUTBOX_STATUSES.find((each) => each === text);
  if (status === undefined) throw new InvalidArgumentError(`One of ${OUTBOX_STATUSES.join(', ')}.`);
  return status;
}

function limitOf(text: string): number {
  const limit = Number(text);
  if (!Number.isInteger(limit) || limit < 1 || limit > 1000)
    throw new InvalidArgumentError('A number from 1 to 1000.');
  return limit;
}
