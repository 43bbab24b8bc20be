/**
 * The gateway over HTTP: answers are checked before anything believes them.
 *
 * @module
 */

import { z } from 'zod';

/** A refusal of the gateway's, by its code; `NETWORK` when there was no answer. */
export class ApiError extends Error {
  readonly code: string;
  readonly status: number;

  constructor(code: string, message: string, status: number) {
    super(message);
    this.code = code;
    this.status = status;
  }
}

const refusalSchema = z.object({ error: z.object({ code: z.string(), message: z.string() }) });

/** @throws ApiError for anything but success */
export async function request(path: string, init: RequestInit = {}): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(new URL(path, document.baseURI), {
      credentials: 'same-origin',
      cache: 'no-store',
      ...init,
    });
  } catch (cause) {
    if (cause instanceof DOMException && cause.name === 'AbortError') throw cause;
    throw new ApiError('NETWORK', 'The gateway does not answer.', 0);
  }
  if (response.ok) return response;
  const refusal = refusalSchema.safeParse(await response.json().catch(() => null)).data?.error;
  throw new ApiError(
    refusal?.code ?? `HTTP_${response.status}`,
    refusal?.message ?? 'It did not work.',
    response.status,
  );
}

export async function get<T>(path: string, schema: z.ZodType<T>): Promise<T> {
  return parsed(await request(path), schema);
}

export async function post<T>(path: string, body: unknown, schema: z.ZodType<T>): Promise<T> {
  const init = {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  };
  return parsed(await request(path, init), schema);
}

async function parsed<T>(response: Response, schema: z.ZodType<T>): Promise<T> {
  const value = schema.safeParse(await response.json().catch(() => null));
  if (!value.success)
    throw new ApiError('UNEXPECTED_ANSWER', 'The gateway answered something else.', response.status);
  return value.data;
}

export const roleSchema = z.object({ role: z.enum(['owner', 'guest']) });

/** @throws ApiError `OPERATOR_AUTH_REQUIRED`, `TOO_MANY_CONNECTIONS`, `NETWORK` */
export async function logIn(token: string): Promise<void> {
  await post('operator/login', { token }, roleSchema);
}

export async function logOut(): Promise<void> {
  await request('operator/logout', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{}',
  });
}
