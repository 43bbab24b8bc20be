import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { get } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Clock, realClock } from '../../../src/clock.ts';
import { realtimeConfigSchema } from '../../../src/config.ts';
import { createVoiceServer, type VoiceServer } from '../../../src/server/index.ts';
import { TLS_CHECK_MS } from '../../../src/tls-files.ts';
import { isInstalled } from '../../e2e/own-network.ts';
import { DeskDouble } from '../rig.ts';
import { closePageRigs } from './rig.ts';

const reason = isInstalled('openssl') ? null : 'openssl is not installed';
if (reason !== null) console.warn(`Skipped: HTTPS of our own. ${reason}.`);

let folder = '';
const cert = () => join(folder, 'cert.pem');
const key = () => join(folder, 'key.pem');
const makeCertificate = (name: string) =>
  execFileSync(
    'openssl',
    [
      ...[
        'req',
        '-x509',
        '-newkey',
        'ec',
        '-pkeyopt',
        'ec_paramgen_curve:prime256v1',
        '-nodes',
        '-days',
        '2',
      ],
      ...['-subj', `/CN=${name}`, '-addext', 'subjectAltName=IP:127.0.0.1', '-keyout', key(), '-out', cert()],
    ],
    { stdio: 'ignore' },
  );
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'tls-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const servers: VoiceServer[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close(0)));
  await closePageRigs();
});

function serve(tls: { cert: string; key: string }, clock: Clock = realClock): VoiceServer {
  const config = realtimeConfigSchema.parse({ server: { port: 0, tls } });
  const server = createVoiceServer({ config, desk: new DeskDouble(), clock, env: {} });
  servers.push(server);
  return server;
}

/** Status, and whose certificate it was. */
function ask(url: string): Promise<{ status: number; name: string }> {
  return new Promise((resolve, reject) => {
    get(url, { rejectUnauthorized: false, agent: false }, (response) => {
      const { subject } = (response.socket as TLSSocket).getPeerCertificate();
      response.resume();
      response.on('end', () => resolve({ status: response.statusCode ?? 0, name: String(subject.CN) }));
    }).on('error', reject);
  });
}

describe.skipIf(reason !== null)('HTTPS of our own', () => {
  it('has the certificate of the config, and a renewed one without a restart; a broken one changes nothing', async () => {
    makeCertificate('first.example');
    const timers: { callback: () => void; delayMs: number }[] = [];
    const clock: Clock = {
      ...realClock,
      setTimeout(callback, delayMs) {
        if (delayMs !== TLS_CHECK_MS) return realClock.setTimeout(callback, delayMs);
        timers.push({ callback, delayMs });
        return { clear: () => {} };
      },
    };
    const looked = async () => {
      const count = timers.length;
      timers.at(-1)?.callback();
      while (timers.length === count) await new Promise((resolve) => setImmediate(resolve));
    };
    const { url } = await serve({ cert: cert(), key: key() }, clock).listen();
    expect(url).toMatch(/^https:/);
    expect(await ask(`${url}/healthz`)).toEqual({ status: 200, name: 'first.example' });

    makeCertificate('second.example');
    await looked();
    expect(await ask(`${url}/healthz`)).toEqual({ status: 200, name: 'second.example' });

    writeFileSync(cert(), 'no certificate');
    await looked();
    expect(await ask(`${url}/healthz`)).toEqual({ status: 200, name: 'second.example' });
  });

  it('stops the start when the files are no certificate and its key', async () => {
    makeCertificate('first.example');
    writeFileSync(key(), 'no key');
    await expect(serve({ cert: cert(), key: key() }).listen()).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
    });
    expect(realtimeConfigSchema.safeParse({ server: { tls: { cert: 'a' } } }).success).toBe(false);
  });
});
