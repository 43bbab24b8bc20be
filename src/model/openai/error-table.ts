/**
 * What a provider's errors, close codes and refusals mean for a call. Text written by a provider goes nowhere:
 * it can quote a key or a transcript. Only codes are kept.
 *
 * @module
 */

import type { ErrorCode } from '../../errors.ts';
import type { ModelError } from '../contract.ts';

type Severity = ModelError['severity'];

/** Codes after which no session will ever work until an operator changes something. */
const FATAL = [
  'insufficient_quota',
  'invalid_api_key',
  'account_deactivated',
  'billing_hard_limit_reached',
  'beta_api_shape_disabled',
  'model_not_found',
  'invalid_organization',
  'organization_deactivated',
  'authentication_error',
  'permission_error',
] as const;

/** Codes that end this session and not the next one. */
const RETRYABLE = ['session_expired', 'session_limit_reached', 'service_unavailable'] as const;

/** Everything else leaves the session open: the provider refused one message. */
const BY_CODE: ReadonlyMap<string, Severity> = new Map([
  ...FATAL.map((code) => [code, 'fatal'] as const),
  ...RETRYABLE.map((code) => [code, 'retryable'] as const),
]);

const AUTH_CODES: ReadonlySet<string> = new Set([
  'invalid_api_key',
  'authentication_error',
  'permission_error',
]);

/**
 * The severity of an `error` event. The code decides; without one, the error's type.
 *
 * Sources: the provider's error guide, and reports of sessions torn down by benign errors.
 */
export function severityOf(code: string): Severity {
  return BY_CODE.get(code) ?? 'benign';
}

/** How a fatal or failed start is reported to whoever called `connect`. */
export function connectErrorCode(code: string): ErrorCode {
  if (AUTH_CODES.has(code)) return 'MODEL_AUTH_FAILED';
  return severityOf(code) === 'retryable' ? 'MODEL_UNAVAILABLE' : 'MODEL_PROTOCOL';
}

/** The answer to the WebSocket handshake, when it is not 101. */
export function refusalErrorCode(httpStatus: number): ErrorCode {
  if (httpStatus === 401 || httpStatus === 403) return 'MODEL_AUTH_FAILED';
  if (httpStatus === 408 || httpStatus === 429 || httpStatus >= 500) return 'MODEL_UNAVAILABLE';
  return 'MODEL_PROTOCOL';
}

interface CloseMeaning {
  readonly code: string;
  readonly severity: Severity;
}

const CLOSE_CODES: ReadonlyMap<number, CloseMeaning> = new Map([
  [1000, { code: 'closed_by_provider', severity: 'retryable' }],
  [1001, { code: 'session_expired', severity: 'retryable' }],
  [1002, { code: 'protocol_error', severity: 'fatal' }],
  [1003, { code: 'protocol_error', severity: 'fatal' }],
  [1006, { code: 'connection_lost', severity: 'retryable' }],
  [1007, { code: 'protocol_error', severity: 'fatal' }],
  // A key or quota that is refused; reconnecting for ever is a known way to burn a call.
  [1008, { code: 'policy_violation', severity: 'fatal' }],
  [1009, { code: 'message_too_big', severity: 'fatal' }],
  [3000, { code: 'unauthorized', severity: 'fatal' }],
  [3003, { code: 'forbidden', severity: 'fatal' }],
  [4000, { code: 'beta_api_shape_disabled', severity: 'fatal' }],
]);

/** What a WebSocket close code that we did not ask for means. */
export function closeMeaning(code: number): CloseMeaning {
  return CLOSE_CODES.get(code) ?? { code: 'connection_lost', severity: 'retryable' };
}

const SAFE_CODE = /^[a-z][a-z0-9_]{0,63}$/;

/** A provider's code, when it looks like one; a key or a sentence does not. */
export function safeCode(...candidates: readonly (string | null | undefined)[]): string {
  for (const candidate of candidates) {
    if (candidate && SAFE_CODE.test(candidate) && !candidate.startsWith('sk_')) return candidate;
  }
  return 'unknown_error';
}

/** One plain sentence for a log. */
export function errorMessage(code: string, severity: Severity): string {
  switch (severity) {
    case 'benign':
      return `The model refused one message (${code}); the session goes on.`;
    case 'retryable':
      return `The model's session ended (${code}); a new one may work.`;
    case 'fatal':
      return `The model refuses the session (${code}); check key, quota, model and address.`;
    default:
      return severity satisfies never;
  }
}

/** What a connection failed of that was closed before the session was ready. */
export function connectErrorCodeOfClose(
  code: number,
): 'MODEL_AUTH_FAILED' | 'MODEL_PROTOCOL' | 'MODEL_UNAVAILABLE' {
  if (code === 3000 || code === 3003) return 'MODEL_AUTH_FAILED';
  return closeMeaning(code).severity === 'retryable' ? 'MODEL_UNAVAILABLE' : 'MODEL_PROTOCOL';
}
