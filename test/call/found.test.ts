/**
 * What random conversations once broke, each as the shortest conversation that breaks it and with the seed that found
 * it. The steps are written out, because a seed means nothing any more once a kind of step is added.
 */
import { beforeAll, describe, it } from 'vitest';
import { loadAudio } from '../../src/audio/index.ts';
import { type Conversation, playConversation } from './conversations.ts';

beforeAll(() => loadAudio());

interface Found {
  readonly what: string;
  readonly seed: number;
  readonly conversation: Conversation;
}

const FOUND: readonly Found[] = [
  {
    what: 'an interruption after a reconnect sent an output for a call id that the new session did not know',
    seed: 1,
    conversation: {
      steps: [
        { type: 'respond' },
        { type: 'call', name: 'send_email', args: '{}' },
        { type: 'done', status: 'completed' },
        { type: 'advance', ms: 2600 },
        { type: 'advance', ms: 200 },
        { type: 'respond' },
        { type: 'call', name: 'send_email', args: '{}' },
        { type: 'done', status: 'completed' },
        { type: 'advance', ms: 2600 },
        { type: 'advance', ms: 200 },
        { type: 'callerSpeaks' },
        { type: 'advance', ms: 200 },
        { type: 'callerStops' },
        { type: 'respond' },
        { type: 'call', name: 'ask_agent', args: '{"request":"x"}' },
        { type: 'done', status: 'completed' },
        { type: 'staleLeg' },
        { type: 'drop' },
        { type: 'callerSpeaks' },
        { type: 'advance', ms: 700 },
        { type: 'callerStops' },
        { type: 'commit' },
        { type: 'words', text: 'Stop that.', final: true, late: true },
      ],
      interruptsItself: false,
      marks: 'echo',
      policy: 'duck-then-confirm',
      localDetector: true,
      reconnects: false,
      hasVoice: false,
      onInterrupt: 'deliver',
      onHangup: 'abort',
      greeting: '',
      protectGreeting: false,
    },
  },
  {
    what: 'somebody who asked for keys after the end of the call waited for ever',
    seed: 1,
    conversation: {
      steps: [
        { type: 'legBreaksOff' },
        { type: 'advance', ms: 200 },
        { type: 'newLeg' },
        { type: 'done', status: 'completed' },
        { type: 'collectDigits' },
        { type: 'commit' },
      ],
      interruptsItself: false,
      marks: 'echo',
      policy: 'immediate',
      localDetector: true,
      reconnects: false,
      hasVoice: false,
      onInterrupt: 'abort',
      onHangup: 'abort',
      greeting: '',
      protectGreeting: false,
    },
  },
  {
    what: 'keys that the agent was about to press came late, to a session, after the hang-up',
    seed: 4,
    conversation: {
      steps: [
        { type: 'respond' },
        { type: 'call', name: 'send_dtmf', args: '{"path":"a","to":"sales","digits":"1","request":"x"}' },
        { type: 'legBreaksOff' },
        { type: 'advance', ms: 200 },
        { type: 'newLeg' },
        { type: 'respond' },
        { type: 'speak', ms: 4000, item: 0 },
        { type: 'endItem', item: 0 },
        { type: 'done', status: 'completed' },
        { type: 'advance', ms: 700 },
        { type: 'call', name: 'read_file', args: '{}' },
      ],
      interruptsItself: false,
      marks: 'echo',
      policy: 'immediate',
      localDetector: true,
      reconnects: false,
      hasVoice: false,
      onInterrupt: 'abort',
      onHangup: 'deliver',
      greeting: '',
      protectGreeting: false,
    },
  },
];

describe('found by random conversations, and no more:', () => {
  for (const { what, seed, conversation } of FOUND)
    it(`${what} (seed ${seed})`, () => playConversation(conversation));
});
