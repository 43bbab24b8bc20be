import { describe, expect, it } from 'vitest';
import { EXIT } from '../../src/cli/exit-codes.ts';
import { errorText, exitCodeOf } from '../../src/cli/report.ts';
import { VoiceError } from '../../src/errors.ts';

describe('an error at the terminal', () => {
  it.each([
    ['CONFIG_INVALID', EXIT.config],
    ['CONFIG_NOT_FOUND', EXIT.config],
    ['PHRASE_INVALID', EXIT.config],
    ['ADDRESS_IN_USE', EXIT.unavailable],
    ['STORE_UNAVAILABLE', EXIT.unavailable],
    ['MODEL_AUTH_FAILED', EXIT.failed],
  ] as const)('%s ends the process with %i', (code, exitCode) => {
    expect(exitCodeOf(new VoiceError(code, 'x'))).toBe(exitCode);
  });

  it('that is coded shows its code and what to do, and no stack', () => {
    const text = errorText(
      new VoiceError('CONFIG_INVALID', 'server.prot: did you mean port?\nmodel: not text'),
    );
    expect(text).toBe('CONFIG_INVALID: server.prot: did you mean port?\nmodel: not text\n');
  });

  it('that is not shows where it happened', () => {
    expect(errorText(new Error('boom'))).toContain('report.test.ts');
    expect(exitCodeOf(new Error('boom'))).toBe(EXIT.failed);
  });
});
