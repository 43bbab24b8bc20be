/**
 * `nanobot-realtime page`: links with which guests call from a web page.
 *
 * @module
 */

import { type Command, InvalidArgumentError } from 'commander';
import { z } from 'zod';
import { type ErrorCode, VoiceError } from '../errors.ts';
import { askGateway, OPERATOR_VARIABLE } from './gateway-client.ts';
import { type GatewayCommandFlags as Flags, gatewayCommand, print, timeText } from './gateway-commands.ts';

interface LinkFlags extends Flags {
  readonly note?: string;
  readonly minutes?: number;
}

const HELP = `
What it needs
  A running gateway (start), and the operator's token: in ${OPERATOR_VARIABLE}, or in a file named by --token-file. The
  token was printed once, when the gateway first started; "nanobot-realtime approvals token" makes a new one.

A link works once. Whoever opens it can call, sees no arguments or results of tools, and decides nothing but what
page.guests.decide lets them. A restart takes back all links and guests.

Examples:
  $ nanobot-realtime page link
  $ nanobot-realtime page link --note "Ana, trying it out" --minutes 60
  $ nanobot-realtime page list
  $ nanobot-realtime page revoke 3f2a90c15b6e7d80
`;

export function registerPage(program: Command): void {
  const group = program
    .command('page')
    .summary('links with which guests call from a web page')
    .description('Makes, lists and takes back links with which guests call from a web page.')
    .addHelpText('after', HELP);
  const sub = (name: string, text: string) => gatewayCommand(group, name, text);
  sub('link', 'make a link, and print it once')
    .option('--note <text>', 'who it is for, for the list')
    .option('--minutes <number>', 'how long it can be used', minutes)
    .action((flags: LinkFlags) => link(flags));
  sub('list', 'links that wait to be used, and guests who are in').action((flags: Flags) => list(flags));
  sub('revoke <id>', 'take a link back, or end a guest’s session and call').action(
    (id: string, flags: Flags) => revoke(id, flags),
  );
}

function minutes(text: string): number {
  const value = Number(text);
  if (!(value >= 1 && value <= 43_200))
    throw new InvalidArgumentError('A number of minutes, from 1 to 43200 (30 days).');
  return value;
}

async function link({ note, minutes: ttlMinutes, ...flags }: LinkFlags): Promise<void> {
  const answer = await ask(flags, 'POST', '/page/links', {
    ...(note !== undefined && { note }),
    ...(ttlMinutes !== undefined && { ttlMinutes }),
  });
  const { url, expiresAt } = z.object({ url: z.string(), expiresAt: z.number() }).parse(answer);
  print(
    flags.json ? JSON.stringify(answer, null, 2) : `${url}\nWorks once, until ${timeText(expiresAt)} (UTC).`,
  );
}

async function list(flags: Flags): Promise<void> {
  const answer = await ask(flags, 'GET', '/page/links');
  if (flags.json) return print(JSON.stringify(answer, null, 2));
  const { links, guests } = z
    .object({
      links: z.array(z.object({ id: z.string(), note: z.string(), expiresAt: z.number() })),
      guests: z.array(
        z.object({ id: z.string(), note: z.string(), until: z.number(), call: z.string().nullable() }),
      ),
    })
    .parse(answer);
  if (links.length + guests.length === 0) return print('There are no links and no guests.');
  for (const each of links) print(`${each.id}  unused  until ${timeText(each.expiresAt)}  ${each.note}`);
  for (const each of guests)
    print(`${each.id}  ${each.call ? 'calling' : 'in     '}  until ${timeText(each.until)}  ${each.note}`);
}

async function revoke(id: string, flags: Flags): Promise<void> {
  await ask(flags, 'DELETE', `/page/links/${encodeURIComponent(id)}`);
  print('Taken back.');
}

async function ask(
  flags: Flags,
  method: 'GET' | 'POST' | 'DELETE',
  path: string,
  body?: object,
): Promise<unknown> {
  const { status, json, code, message, base } = await askGateway(flags, method, path, body);
  if (status < 300) return json;
  if (code === 'ROUTE_NOT_FOUND')
    throw new VoiceError('ROUTE_NOT_FOUND', `The gateway at ${base} has no pages (page.enabled).`);
  const known: Partial<Record<number, ErrorCode>> = {
    401: 'OPERATOR_AUTH_REQUIRED',
    404: 'PAGE_LINK_NOT_FOUND',
    429: 'TOO_MANY_CONNECTIONS',
  };
  throw new VoiceError(
    known[status] ?? 'REQUEST_INVALID',
    message ?? `The gateway answered with status ${status}.`,
  );
}
