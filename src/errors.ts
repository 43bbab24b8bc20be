/**
 * The one table of coded errors. Every error that leaves a room is a `VoiceError` with a code from here;
 * `docs/reference/errors.md` has a paragraph for each code.
 *
 * @module
 */

interface ErrorEntry {
  /** HTTP status when the error answers a request. */
  readonly httpStatus: number;
  /** Whether the same request may succeed later without a change. */
  readonly retryable: boolean;
  /** What a caller on the line is told; `null` when the caller need not know. */
  readonly spoken: string | null;
}

const SORRY = 'Sorry, something went wrong on our side. Please call again.';

/** Code → what it means for HTTP, for retries and for the caller. */
export const ERRORS = {
  CONFIG_INVALID: { httpStatus: 500, retryable: false, spoken: null },
  CONFIG_NOT_FOUND: { httpStatus: 500, retryable: false, spoken: null },
  CONFIG_UNREADABLE: { httpStatus: 500, retryable: false, spoken: null },
  NODE_TOO_OLD: { httpStatus: 500, retryable: false, spoken: null },
  ADDRESS_IN_USE: { httpStatus: 500, retryable: false, spoken: null },
  WORKER_FAILED: { httpStatus: 500, retryable: true, spoken: null },
  GATEWAY_CHANNEL_REFUSED: { httpStatus: 403, retryable: false, spoken: null },
  GATEWAY_TOOL_DENIED: { httpStatus: 403, retryable: false, spoken: null },
  TOOL_LIMIT_REACHED: { httpStatus: 500, retryable: false, spoken: null },
  AUDIO_FORMAT_UNSUPPORTED: { httpStatus: 415, retryable: false, spoken: null },
  AUDIO_FILE_INVALID: { httpStatus: 422, retryable: false, spoken: null },
  MODEL_UNAVAILABLE: { httpStatus: 503, retryable: true, spoken: SORRY },
  MODEL_AUTH_FAILED: { httpStatus: 502, retryable: false, spoken: SORRY },
  MODEL_PROTOCOL: { httpStatus: 502, retryable: false, spoken: SORRY },
  MODEL_SESSION_CLOSED: { httpStatus: 502, retryable: true, spoken: SORRY },
  SPEECH_FAILED: { httpStatus: 500, retryable: true, spoken: null },
  PHRASE_INVALID: { httpStatus: 500, retryable: false, spoken: null },
  LEG_CLOSED: { httpStatus: 410, retryable: false, spoken: null },
  LEG_PROTOCOL: { httpStatus: 400, retryable: false, spoken: null },
  CARRIER_FAILED: { httpStatus: 502, retryable: true, spoken: null },
  CARRIER_REFUSED: { httpStatus: 502, retryable: false, spoken: null },
  LEG_UNSUPPORTED: { httpStatus: 501, retryable: false, spoken: null },
  WEBRTC_OFFER_INVALID: { httpStatus: 400, retryable: false, spoken: null },
  WEBRTC_OFFER_ANSWERED: { httpStatus: 409, retryable: false, spoken: null },
  WEBRTC_FRAGMENT_INVALID: { httpStatus: 400, retryable: false, spoken: null },
  WEBRTC_SESSION_MISMATCH: { httpStatus: 412, retryable: false, spoken: null },
  WEBRTC_RESTART_UNSUPPORTED: { httpStatus: 422, retryable: false, spoken: null },
  WEBRTC_UNAVAILABLE: { httpStatus: 503, retryable: true, spoken: null },
  CALL_LIMIT_REACHED: {
    httpStatus: 503,
    retryable: true,
    spoken: 'All lines are busy. Please call again later.',
  },
  CALL_NOT_FOUND: { httpStatus: 404, retryable: false, spoken: null },
  CALL_REFUSED: { httpStatus: 403, retryable: false, spoken: 'Sorry, this number does not take your call.' },
  SHUTTING_DOWN: {
    httpStatus: 503,
    retryable: true,
    spoken: 'We are restarting. Please call again in a minute.',
  },
  SIGNATURE_INVALID: { httpStatus: 403, retryable: false, spoken: null },
  SIGNATURE_NOT_CONFIGURED: { httpStatus: 503, retryable: false, spoken: null },
  STREAM_TOKEN_INVALID: { httpStatus: 401, retryable: false, spoken: null },
  REQUEST_TOO_LARGE: { httpStatus: 413, retryable: false, spoken: null },
  REQUEST_INVALID: { httpStatus: 400, retryable: false, spoken: null },
  REQUEST_REPLAYED: { httpStatus: 409, retryable: false, spoken: null },
  REQUEST_TIMEOUT: { httpStatus: 408, retryable: true, spoken: null },
  ROUTE_NOT_FOUND: { httpStatus: 404, retryable: false, spoken: null },
  TOO_MANY_CONNECTIONS: { httpStatus: 429, retryable: true, spoken: null },
  STORE_UNAVAILABLE: { httpStatus: 503, retryable: true, spoken: SORRY },
  STORE_CONFLICT: { httpStatus: 409, retryable: false, spoken: null },
  STORE_MIGRATION_FAILED: { httpStatus: 500, retryable: false, spoken: null },
  MEDIA_TOOL_UNAVAILABLE: { httpStatus: 503, retryable: true, spoken: SORRY },
  MEDIA_INVALID: { httpStatus: 422, retryable: false, spoken: null },
  MEDIA_NOT_FOUND: { httpStatus: 404, retryable: false, spoken: null },
  MEDIA_UNAVAILABLE: { httpStatus: 503, retryable: true, spoken: null },
  OPERATOR_AUTH_REQUIRED: { httpStatus: 401, retryable: false, spoken: null },
  PAGE_AUTH_REQUIRED: { httpStatus: 401, retryable: false, spoken: null },
  PAGE_CODE_INVALID: { httpStatus: 401, retryable: false, spoken: null },
  PAGE_LINK_NOT_FOUND: { httpStatus: 404, retryable: false, spoken: null },
  PAGE_MEDIA_TYPE: { httpStatus: 415, retryable: false, spoken: null },
  ORIGIN_REFUSED: { httpStatus: 403, retryable: false, spoken: null },
  APPROVAL_NOT_FOUND: { httpStatus: 404, retryable: false, spoken: null },
  APPROVAL_REFUSED: { httpStatus: 409, retryable: false, spoken: null },
  HOST_UNAVAILABLE: { httpStatus: 503, retryable: true, spoken: SORRY },
} as const satisfies Record<string, ErrorEntry>;

export type ErrorCode = keyof typeof ERRORS;

/** An error with a code from the table. `message` says what to do; it never holds a secret or a number. */
export class VoiceError extends Error {
  override readonly name = 'VoiceError';
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.code = code;
  }

  get httpStatus(): number {
    return ERRORS[this.code].httpStatus;
  }

  get retryable(): boolean {
    return ERRORS[this.code].retryable;
  }

  /** What the caller is told, or `null`. */
  get spoken(): string | null {
    return ERRORS[this.code].spoken;
  }
}

/** True for any `VoiceError`, or one of the given code; survives two installed copies of the package. */
export function isVoiceError(error: unknown, code?: ErrorCode): error is VoiceError {
  if (!(error instanceof Error) || error.name !== 'VoiceError' || !('code' in error)) return false;
  return code === undefined || error.code === code;
}
