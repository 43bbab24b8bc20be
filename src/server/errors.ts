import { isVoiceError } from '../errors.ts';

/** Status and JSON body of an error; what isn't a `VoiceError` says nothing about itself. */
export function errorAnswer(error: unknown): { status: number; code: string; body: string } {
  const status = isVoiceError(error) ? error.httpStatus : 500;
  const code = isVoiceError(error) ? error.code : 'INTERNAL';
  const message = isVoiceError(error) ? error.message : 'Something went wrong here; the log says what.';
  return { status, code, body: `${JSON.stringify({ error: { code, message } })}\n` };
}
