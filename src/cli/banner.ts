/**
 * What `start` prints once it listens: what it is connected to, and how to call it.
 *
 * @module
 */

export interface BannerFacts {
  readonly version: string;
  /** The config file that was read, or `null` when there is none and defaults apply. */
  readonly configFile: string | null;
  /** Where it listens. */
  readonly url: string;
  readonly metricsUrl: string | null;
  /** `server.publicUrl`, when there is one. */
  readonly publicUrl: string | undefined;
  readonly twilio: 'ready' | 'no_key' | 'unverified';
  readonly model: string;
  readonly agent: string;
  readonly store: string;
  /** The page that people call from; `null` when there is none. */
  readonly page?: string | null;
  /** The operator's page; with the token when it was made just now. */
  readonly operator?: { readonly url: string; readonly newToken: string | null } | null;
  /** Processes that calls are spread over; left out where there is one. */
  readonly workers?: number;
  readonly drainTimeoutS: number;
  /** What the config file says that was passed over, one line each. */
  readonly notes: readonly string[];
}

export function banner(facts: BannerFacts): string {
  const connected: [string, string][] = [
    ['Listening', facts.url],
    ['Model', facts.model],
    ['Agent', facts.agent],
    ['Store', facts.store],
    ['Config', facts.configFile ?? 'no file found, defaults apply'],
  ];
  if (facts.workers !== undefined) connected.push(['Workers', String(facts.workers)]);
  if (facts.operator) connected.push(['Operator', facts.operator.url]);
  if (facts.metricsUrl !== null) connected.push(['Metrics', facts.metricsUrl]);
  const rows = connected.map(([name, value]) => `  ${name.padEnd(10)} ${value}`);
  const ending =
    `Ctrl+C takes no new calls and lets the running ones end, for up to ${facts.drainTimeoutS} s. ` +
    'A second one ends them at once.';
  const notes = facts.notes.length > 0 ? ['', 'Notes', ...facts.notes.map((note) => `  ${note}`)] : [];
  const title = `nanobot-realtime ${facts.version}`;
  return [title, '', ...rows, ...tokenLines(facts), ...notes, '', ...howToCall(facts), '', ending, ''].join(
    '\n',
  );
}

function tokenLines({ operator }: BannerFacts): string[] {
  if (!operator || operator.newToken === null) return [];
  return [
    '',
    'The operator’s token, shown this once; only its hash is kept',
    `  ${operator.newToken}`,
    '  It opens both pages, and the command line: NANOBOT_REALTIME_OPERATOR_TOKEN=… nanobot-realtime page link',
  ];
}

function howToCall({ publicUrl, url, twilio, page }: BannerFacts): string[] {
  const base = (publicUrl ?? url).replace(/\/+$/, '');
  const lines = ['How to call it'];
  if (page) lines.push(...pageLines(page));
  if (publicUrl === undefined) {
    lines.push(
      `  A phone cannot reach ${url}. To put it on a phone number:`,
      '    1. make it reachable (a tunnel or a reverse proxy) and set channels.realtime.server.publicUrl;',
      `    2. in Twilio, let "A call comes in" of your number call <that address>/twilio/voice by POST.`,
      '  docs/guides/twilio.md goes through it step by step.',
    );
  } else {
    lines.push(`  Twilio: let "A call comes in" of your number call ${base}/twilio/voice by POST,`);
    lines.push('  then phone it. docs/guides/twilio.md goes through it step by step.');
  }
  if (twilio === 'no_key') {
    lines.push(
      '  Until it knows your Twilio auth token it refuses every call: set TWILIO_AUTH_TOKEN, or',
      '  channels.realtime.carriers.twilio.authToken.',
    );
  }
  if (twilio === 'unverified') {
    lines.push(
      '  WARNING: unsafeSkipSignature is on. Whoever reaches this address is believed to be Twilio.',
    );
  }
  return lines;
}

function pageLines(page: string): string[] {
  const { protocol, hostname } = new URL(page);
  const isLoopback = ['127.0.0.1', '[::1]', 'localhost'].includes(hostname);
  return [
    `  From a browser: ${page}`,
    ...(protocol === 'https:' || isLoopback
      ? []
      : ['  It needs HTTPS for the microphone there: server.tls, a proxy or a tunnel (docs/guides/web.md).']),
  ];
}
