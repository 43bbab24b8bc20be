/**
 * Arguments as people see them: what looks like a secret is not in it. Redaction is for reading only; what runs is what
 * was stored.
 *
 * @module
 */

const SECRET_KEY =
  /(^|[_.-])(api[_-]?key|key|token|secret|password|passwd|passphrase|pwd|pin|otp|auth|authorization|credential|credentials|cookie|session|private[_-]?key|signature|cvv|cvc|ssn)s?($|[_.-])/i;
/** Well-known shapes of keys and tokens, wherever they stand. */
const SECRET_TEXT =
  /\b(?:sk|pk|rk|ghp|gho|ghs|github_pat|glpat|xox[abprs]|AKIA|ASIA|AIza|ya29|eyJ)[-_A-Za-z0-9.]{12,}|\bBearer\s+[-\w.~+/=]{8,}|-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)|(?<=:\/\/)[^/\s:@]+:[^/\s@]+(?=@)|\b(?:\d[ -]?){13,19}\b/g;
const SECRET_ASSIGNMENT = /\b((?:api[_-]?key|token|secret|password|passwd|pwd)\s*[=:]\s*)\S+/gi;

export const REDACTED = '[redacted]';

/** `camelCase` keys are read as their words. */
const words = (key: string) => key.replace(/([a-z0-9])([A-Z])/g, '$1_$2');

export function redactText(text: string): string {
  return text.replace(SECRET_TEXT, REDACTED).replace(SECRET_ASSIGNMENT, `$1${REDACTED}`);
}

/** A copy of plain data without what looks like a secret. */
export function redact(value: unknown): unknown {
  if (typeof value === 'string') return redactText(value);
  if (Array.isArray(value)) return value.map(redact);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [key, SECRET_KEY.test(words(key)) ? REDACTED : redact(each)]),
  );
}
