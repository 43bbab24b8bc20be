/**
 * Asks the running gateway, with the operator's token.
 *
 * @module
 */

import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { VoiceError } from '../errors.ts';

/** Holds the operator's token; no tool's environment does. */
export const OPERATOR_VARIABLE = 'NANOBOT_REALTIME_OPERATOR_TOKEN';

export interface GatewayFlags {
  readonly config?: string;
  readonly url?: string;
  readonly tokenFile?: string;
}

export interface GatewayAnswer {
  readonly status: number;
  readonly json: unknown;
  /** Of a refusal. */
  readonly code: string | null;
  readonly message: string | null;
  /** Where it was asked. */
  readonly base: string;
}

const refusal = z.object({ error: z.object({ code: z.string(), message: z.string() }) });

/**
 * @param path - from the gateway's address on, with its slash
 * @throws VoiceError `HOST_UNAVAILABLE` when nobody answers, `OPERATOR_AUTH_REQUIRED` without a token
 */
export async function askGateway(
  flags: GatewayFlags,
  method: 'GET' | 'POST' | 'DELETE',
  path: string,
  body?: object,
): Promise<GatewayAnswer> {
  const base = await baseOf(flags);
  const secret = await secretOf(flags);
  let response: Response;
  try {
    response = await fetch(`${base}${path}`, {
      method,
      headers: { authorization: `Bearer ${secret}`, ...(body ? { 'content-type': 'application/json' } : {}) },
      redirect: 'error',
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
  } catch (cause) {
    throw new VoiceError(
      'HOST_UNAVAILABLE',
      `No gateway answers at ${base}. Is it running, and is that its address (--url)?`,
      { cause },
    );
  }
  const json: unknown = await response.json().catch(() => null);
  const error = response.ok ? undefined : refusal.safeParse(json).data?.error;
  return { status: response.status, json, code: error?.code ?? null, message: error?.message ?? null, base };
}

async function baseOf(flags: GatewayFlags): Promise<string> {
  if (flags.url !== undefined) return flags.url.replace(/\/+$/, '');
  const { loadConfig } = await import('../host/index.ts');
  const { realtime } = await loadConfig(flags.config === undefined ? {} : { path: flags.config });
  const { host, port, tls } = realtime.server;
  const reachable = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
  const scheme = tls.cert === undefined ? 'http' : 'https';
  return `${scheme}://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`;
}

async function secretOf(flags: GatewayFlags): Promise<string> {
  const given =
    flags.tokenFile === undefined ? process.env[OPERATOR_VARIABLE] : await readFile(flags.tokenFile, 'utf8');
  const secret = given?.trim() ?? '';
  if (secret !== '') return secret;
  throw new VoiceError(
    'OPERATOR_AUTH_REQUIRED',
    `The operator’s token is needed: set ${OPERATOR_VARIABLE}, or give --token-file.`,
  );
}
