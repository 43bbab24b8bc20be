import { describe, expect, it } from 'vitest';
import { MAX_MESSAGE_CHARS, MAX_PAYLOAD_CHARS, parseTwilioMessage } from '../../../src/leg/twilio/index.ts';
import { mediaMessage, STREAM_SID, startMessage } from './memory-socket.ts';

const parse = (message: object) => parseTwilioMessage(JSON.stringify(message));

describe("Twilio's messages", () => {
  it('are read as the documentation shows them', () => {
    expect(parse({ event: 'connected', protocol: 'Call', version: '1.0.0' })).toEqual({ event: 'connected' });
    expect(parse(startMessage({ token: 't' }))).toEqual({
      event: 'start',
      start: {
        streamSid: STREAM_SID,
        accountSid: 'AC00000000000000000000000000000001',
        callSid: 'CA00000000000000000000000000000001',
        customParameters: { token: 't' },
      },
    });
    expect(parse(mediaMessage(5))).toMatchObject({ event: 'media', track: 'inbound', timestampMs: 5 });
    expect(parse({ event: 'dtmf', streamSid: 'MZ1', dtmf: { track: 'inbound_track', digit: '#' } })).toEqual({
      event: 'dtmf',
      streamSid: 'MZ1',
      digit: '#',
    });
    expect(parse({ event: 'mark', streamSid: 'MZ1', mark: { name: '0:a' } })).toMatchObject({ name: '0:a' });
    expect(parse({ event: 'stop', streamSid: 'MZ1', stop: {} })).toEqual({ event: 'stop', streamSid: 'MZ1' });
  });

  it('of a kind that did not exist yet are skipped', () => {
    expect(parse({ event: 'weather', streamSid: 'MZ1' })).toEqual({ event: 'unknown' });
  });

  it.each([
    ['no JSON', 'hello'],
    ['JSON that is no object', '[]'],
    ['no event', '{}'],
    ['a number as event', '{"event":1}'],
    ['a start without its fields', '{"event":"start","streamSid":"MZ1"}'],
    ['media without a payload', '{"event":"media","streamSid":"MZ1","media":{}}'],
    ['a payload that is no base64', '{"event":"media","streamSid":"MZ1","media":{"payload":"{}{}"}}'],
    ['a payload cut off', '{"event":"media","streamSid":"MZ1","media":{"payload":"AAA"}}'],
    ['a digit that no phone has', '{"event":"dtmf","streamSid":"MZ1","dtmf":{"digit":"12"}}'],
    ['another encoding', JSON.stringify(startMessage()).replace('x-mulaw', 'x-l16')],
    ['only the outbound track', JSON.stringify(startMessage()).replace('["inbound"]', '["outbound"]')],
    ['a message too long', `{"event":"connected","x":"${'a'.repeat(MAX_MESSAGE_CHARS)}"}`],
    [
      'a payload too long',
      `{"event":"media","streamSid":"MZ1","media":{"payload":"${'A'.repeat(MAX_PAYLOAD_CHARS + 4)}"}}`,
    ],
  ])('with %s are refused', (_, text) => {
    expect(() => parseTwilioMessage(text)).toThrow(expect.objectContaining({ code: 'LEG_PROTOCOL' }));
  });

  it('as binary frames are refused', () => {
    expect(() => parseTwilioMessage(new Uint8Array([123, 125]))).toThrow(/binary frame/);
  });

  it('never have their digits quoted in an error', () => {
    const wrong = JSON.stringify({ event: 'dtmf', streamSid: 'MZ1', dtmf: { digit: '98765' } });
    expect(() => parseTwilioMessage(wrong)).toThrow(/^(?!.*98765)/);
  });
});
