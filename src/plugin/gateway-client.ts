/**
 * Reads from the running voice gateway over loopback.
 *
 * @module
 */

import { randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { dirname, join } from 'node:path';

/** Longest answer, in bytes. */
export const MAX_ANSWER_BYTES = 4 * 1024 * 1024;
/** Deadline of one request, in ms. */
export const ANSWER_TIMEOUT_MS = 10_000;

/** A sentence for the agent. */
export class GatewayError extends Error {
  override readonly name = 'GatewayError';
}

export interface GatewayPlaces {
  /** Where the gateway says that it listens. */
  readonly gatewayFile: string;
  /** Our own token. */
  readonly tokenFile: string;
}

/** nanobot's layout: `<config folder>/plugin-data/<workspace>/<plugin>`, and our data folder beside it. */
export function placesOf(pluginData: string): GatewayPlaces {
  const configFolder = dirname(dirname(dirname(pluginData)));
  return {
    gatewayFile: join(configFolder, 'realtime', 'gateway.json'),
    tokenFile: join(pluginData, 'token'),
  };
}

/** Makes the token, for this user's eyes only, unless there is one. */
export function ensureToken(path: string): string {
  try {
    const known = readFileSync(path, 'utf8').trim();
    if (known.length >= 40) {
      chmodSync(path, 0o600);
      return known;
    }
  } catch {
    // There is none yet.
  }
  const token = randomBytes(32).toString('base64url');
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const temporary = `${path}.${randomBytes(4).toString('hex')}`;
  writeFileSync(temporary, `${token}\n`, { mode: 0o600, flag: 'wx' });
  renameSync(temporary, path);
  return token;
}

const NOT_RUNNING =
  'The voice gateway is not running. Its owner starts it with nanobot, or with `nanobot-realtime start`.';

export class GatewayClient {
  readonly #places: GatewayPlaces;

  constructor(places: GatewayPlaces) {
    this.#places = places;
  }

  /** @throws GatewayError with a sentence for the agent */
  async get(path: string): Promise<unknown> {
    const base = this.#address();
    const token = ensureToken(this.#places.tokenFile);
    const { status, body } = await fetchText(new URL(path, base), token).catch(() => {
      throw new GatewayError(NOT_RUNNING);
    });
    if (status === 200) return JSON.parse(body);
    if (status === 404) throw new GatewayError('There is no such call of the owner’s.');
    throw new GatewayError(`The voice gateway did not answer (${status}).`);
  }

  #address(): URL {
    try {
      const { url } = JSON.parse(readFileSync(this.#places.gatewayFile, 'utf8')) as { url?: unknown };
      const address = new URL(String(url));
      // The token is for this machine: it goes nowhere else, whatever the file says.
      if (!['127.0.0.1', '[::1]', 'localhost'].includes(address.hostname))
        throw new Error('not this machine');
      return address;
    } catch {
      throw new GatewayError(NOT_RUNNING);
    }
  }
}

function fetchText(url: URL, token: string): Promise<{ status: number; body: string }> {
  const isTls = url.protocol === 'https:';
  const send = isTls ? httpsRequest : httpRequest;
  return new Promise((resolve, reject) => {
    const request = send(
      url,
      {
        headers: { authorization: `Bearer ${token}` },
        signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS),
        // The certificate is made out to the public name; this is loopback.
        ...(isTls && { rejectUnauthorized: false }),
      },
      (response) => {
        const chunks: Buffer[] = [];
        let size = 0;
        response.on('data', (chunk: Buffer) => {
          size += chunk.length;
          if (size > MAX_ANSWER_BYTES) response.destroy(new Error('too long'));
          else chunks.push(chunk);
        });
        response.on('error', reject);
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString('utf8') }),
        );
      },
    );
    request.on('error', reject);
    request.end();
  });
}
