import { describe, expect, it } from 'vitest';
import { type BannerFacts, banner } from '../../src/cli/banner.ts';

const facts: BannerFacts = {
  version: '1.2.3',
  configFile: '/home/me/.nanobot/config.json',
  url: 'http://127.0.0.1:8787',
  metricsUrl: null,
  publicUrl: undefined,
  twilio: 'ready',
  model: 'OpenAI gpt-realtime-2.1',
  agent: 'nanobot (embedded), 8 tools',
  store: 'SQLite',
  drainTimeoutS: 30,
  notes: [],
};

describe('what start prints', () => {
  it('says what it is connected to', () => {
    const text = banner(facts);
    for (const each of [facts.version, facts.url, facts.model, facts.agent, facts.store, facts.configFile]) {
      expect(text).toContain(each);
    }
    expect(text).not.toContain('Metrics');
  });

  it('says what is missing before a phone can reach it', () => {
    const text = banner(facts);
    expect(text).toContain('A phone cannot reach http://127.0.0.1:8787');
    expect(text).toContain('publicUrl');
  });

  it('names the very address for the carrier once there is a public one', () => {
    const text = banner({ ...facts, publicUrl: 'https://voice.example.com/phone/' });
    expect(text).toContain('https://voice.example.com/phone/twilio/voice by POST');
    expect(text).not.toContain('cannot reach');
  });

  it('says that calls are refused until there is an auth token', () => {
    expect(banner({ ...facts, twilio: 'no_key' })).toContain('TWILIO_AUTH_TOKEN');
    expect(banner(facts)).not.toContain('TWILIO_AUTH_TOKEN');
  });

  it('warns when signatures are skipped', () => {
    expect(banner({ ...facts, twilio: 'unverified' })).toContain('WARNING');
  });

  it('shows what of the config was passed over', () => {
    const note = 'tools.ssrfWhitelist: an entry is not an address range; passed over';
    expect(banner({ ...facts, notes: [note] })).toContain(note);
    expect(banner(facts)).not.toContain('Notes');
  });

  it('names the pages, and what a browser needs that is not on this machine', () => {
    const page = 'http://127.0.0.1:8787/talk';
    const operator = { url: 'http://127.0.0.1:8787/operator', newToken: 'once' };
    const text = banner({ ...facts, page, operator });
    expect(text).toContain(`From a browser: ${page}\n`);
    expect(text).toContain(operator.url);
    expect(text).toMatch(/shown this once[^\n]*\n {2}once\n/);
    expect(text).not.toContain('HTTPS');
    expect(banner({ ...facts, page: 'http://192.0.2.7:8787/talk' })).toContain('needs HTTPS');
    expect(banner({ ...facts, page: 'https://voice.example.com/talk' })).not.toContain('needs HTTPS');
    expect(banner(facts)).not.toContain('browser');
  });

  it('says so when defaults apply', () => {
    expect(banner({ ...facts, configFile: null })).toContain('defaults apply');
  });
});
