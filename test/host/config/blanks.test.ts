import { expect, it } from 'vitest';
import { realtimeConfigSchema } from '../../../src/config.ts';
import { withoutBlanks } from '../../../src/host/config/blanks.ts';

it("takes a field that nanobot's settings page left empty as not given", () => {
  const saved = {
    enabled: true,
    model: { provider: 'auto', apiKey: '', model: '', voice: '', baseUrl: '' },
    persona: '',
    greeting: '',
    server: { port: 8787, publicUrl: '' },
    carriers: { twilio: { accountSid: '', authToken: '' } },
    approvals: { toolGate: { requireApproval: [], deny: [''] } },
    node: '',
  };

  const kept = withoutBlanks(saved);

  expect(kept).toEqual({
    enabled: true,
    model: { provider: 'auto' },
    greeting: '',
    server: { port: 8787 },
    approvals: { toolGate: { requireApproval: [], deny: [''] } },
  });
  // What is not a field, such as an entry of a list, is still a mistake.
  expect(realtimeConfigSchema.safeParse(kept).success).toBe(false);
});

it('leaves an object that was empty before', () => {
  expect(withoutBlanks({ carriers: { twilio: {} } })).toEqual({ carriers: { twilio: {} } });
});
