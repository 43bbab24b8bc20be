/** The two messages that are read without a parser: whatever a scanner takes, the parser reads the same. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseTwilioMessage } from '../src/leg/twilio/index.ts';
import { parseServerEvent } from '../src/model/openai/server-events.ts';

const MEDIA =
  '{"event":"media","sequenceNumber":"4","media":{"track":"inbound","chunk":"2","timestamp":"40","payload":"Kioq/+8="},"streamSid":"MZ01"}';
const DELTA =
  '{"type":"response.output_audio.delta","event_id":"event_1","response_id":"resp_1","item_id":"item_1","output_index":0,"content_index":1,"delta":"Kioq/+8="}';

/** The same message, spelled so that no scanner takes it. */
const spelled = (text: string) => ` ${text}`;

/** One character put in, taken out or changed, somewhere. */
const damage = (text: string) =>
  fc
    .tuple(
      fc.nat(text.length),
      fc.nat(1),
      fc.oneof(
        fc.constantFrom('"', '\\', '}', ',', '=', '\n', '', 'u0041', '","x":"'),
        fc.string({ maxLength: 2 }),
      ),
    )
    .map(([at, cut, put]) => text.slice(0, at) + put + text.slice(at + cut));

function outcome<T>(read: () => T): T | 'refused' {
  try {
    return read();
  } catch {
    return 'refused';
  }
}

describe('what is read without a parser', () => {
  it('is what the parser would have read: media of Twilio’s', () => {
    expect(parseTwilioMessage(MEDIA)).toEqual(parseTwilioMessage(spelled(MEDIA)));
    fc.assert(
      fc.property(damage(MEDIA), (text) => {
        expect(outcome(() => parseTwilioMessage(text))).toEqual(
          outcome(() => parseTwilioMessage(spelled(text))),
        );
      }),
      { numRuns: 5000 },
    );
  });

  it('is what the parser would have read: audio of the model’s', () => {
    expect(parseServerEvent(DELTA)).toMatchObject({
      kind: 'event',
      event: { delta: 'Kioq/+8=', content_index: 1 },
    });
    expect(parseServerEvent(DELTA)).toEqual(parseServerEvent(spelled(DELTA)));
    fc.assert(
      fc.property(damage(DELTA), (text) => {
        expect(parseServerEvent(text)).toEqual(parseServerEvent(spelled(text)));
      }),
      { numRuns: 5000 },
    );
  });
});
