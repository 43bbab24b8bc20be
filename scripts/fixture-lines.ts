/** What the synthesised caller says: file name → text. */

/** The demo's call, in the order in which it is played. */
export const DEMO_LINES = {
  'ask-time': 'What time is it?',
  'list-files': 'What files are there?',
  'read-notes': 'Please read me the file, notes dot text.',
  'count-words': 'Please count the words.',
  'read-outside': 'Please read me the password file.',
  'send-picture': 'Please send me a test picture.',
  'delete-report': 'Please delete the report.',
  refuse: 'No.',
  'long-answer': 'Tell me about yourself.',
  interrupt: 'Please stop talking.',
  goodbye: 'Okay, thank you, goodbye.',
} as const;

/** What the demo's caller coughs is made of. */
export const COUGH = 'Ugh.';

/** Utterances of the tests, each in several formats, noisy and clipped. */
export const UTTERANCES = {
  'what-time-is-it': 'What time is it?',
  'not-a-command': 'My sister went to the market to buy some apples.',
} as const;
