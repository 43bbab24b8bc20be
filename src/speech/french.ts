/**
 * French out of an English voice. Flite has no French voice, and every synthesiser on npm that has one is GPL or
 * comes without its voice. So each word's French pronunciation is looked up in the recogniser's French
 * dictionary, written in the nearest American sounds, and given to flite as a word of its own: French with an
 * American accent, but French. What is not in the dictionary is spoken as flite would read it.
 *
 * @module
 */

import type { PronouncingDictionary } from './dictionary.ts';

/** Phones of the fr-fr dictionary → flite's; `V` stands where a vowel takes its stress. */
const SOUNDS: Readonly<Record<string, string>> = {
  aa: 'aaV',
  ai: 'ehV',
  an: 'aaV n',
  au: 'owV',
  bb: 'b',
  ch: 'sh',
  dd: 'd',
  ee: 'ax0',
  ei: 'eyV',
  eu: 'uhV',
  ff: 'f',
  gg: 'g',
  gn: 'n y',
  ii: 'iyV',
  in: 'aeV n',
  jj: 'zh',
  kk: 'k',
  ll: 'l',
  mm: 'm',
  nn: 'n',
  oe: 'ahV',
  on: 'owV n',
  oo: 'aoV',
  ou: 'uwV',
  pp: 'p',
  rr: 'r',
  ss: 's',
  tt: 't',
  un: 'ahV n',
  uu: 'uwV',
  uy: 'w',
  vv: 'v',
  ww: 'w',
  yy: 'y',
  zz: 'z',
};

/** Where the dictionary's first pronunciation is not how the word is said alone. */
const EXCEPTIONS: Readonly<Record<string, string>> = {
  vingt: 'vv in',
  plus: 'pp ll uu',
  est: 'ai',
  et: 'ei',
};

const UNITS = [
  'zéro',
  'un',
  'deux',
  'trois',
  'quatre',
  'cinq',
  'six',
  'sept',
  'huit',
  'neuf',
  'dix',
  'onze',
  'douze',
  'treize',
  'quatorze',
  'quinze',
  'seize',
  'dix sept',
  'dix huit',
  'dix neuf',
] as const;

const TENS = [
  '',
  '',
  'vingt',
  'trente',
  'quarante',
  'cinquante',
  'soixante',
  'soixante',
  'quatre vingt',
  'quatre vingt',
];

/** 0 to 999,999 in French words; longer numbers digit by digit. */
export function frenchNumber(digits: string): string {
  const value = Number(digits);
  if (digits.length > 6 || (digits.length > 1 && digits.startsWith('0'))) {
    return [...digits].map((digit) => UNITS[Number(digit)] ?? '').join(' ');
  }
  if (value < 20) return UNITS[value] ?? '';
  if (value < 100) {
    const tens = Math.floor(value / 10);
    // 70 to 79 and 90 to 99 count on from sixty and eighty.
    const rest = value - (tens === 7 ? 60 : tens === 9 ? 80 : tens * 10);
    const linked = (rest === 1 || rest === 11) && tens < 8 ? ' et' : '';
    return rest === 0 ? (TENS[tens] ?? '') : `${TENS[tens]}${linked} ${UNITS[rest]}`;
  }
  if (value < 1000) {
    const hundreds = Math.floor(value / 100);
    const rest = value % 100;
    const head = hundreds === 1 ? 'cent' : `${UNITS[hundreds]} cent`;
    return rest === 0 ? head : `${head} ${frenchNumber(String(rest))}`;
  }
  const thousands = Math.floor(value / 1000);
  const rest = value % 1000;
  const head = thousands === 1 ? 'mille' : `${frenchNumber(String(thousands))} mille`;
  return rest === 0 ? head : `${head} ${frenchNumber(String(rest))}`;
}

/** Stresses the last full vowel, as French does. */
function toFlite(pronunciation: string): string {
  const sounds = pronunciation.split(/\s+/).map((phone) => SOUNDS[phone] ?? '');
  const joined = sounds.filter((sound) => sound !== '').join(' ');
  const last = joined.lastIndexOf('V');
  return [...joined].map((char, i) => (char === 'V' ? (i === last ? '1' : '0') : char)).join('');
}

/** Flite's tokeniser knows ASCII letters only, so each word becomes a name of letters. */
function wordName(index: number): string {
  const letter = (n: number) => String.fromCharCode(97 + n);
  return `q${letter(Math.floor(index / 26) % 26)}${letter(index % 26)}q`;
}

function pronounce(word: string, dictionary: PronouncingDictionary): string | null {
  const whole = EXCEPTIONS[word] ?? dictionary.pronunciation(word);
  if (whole !== null) return whole;
  // "s'il", "pouvez-vous": an elided word and its neighbour, or two words on a hyphen.
  const parts = word.split(/(?<=')|-/).filter((part) => part !== '');
  if (parts.length < 2) return null;
  const sounds = parts.map(
    (part) => dictionary.pronunciation(part) ?? dictionary.pronunciation(part.replace("'", 'e')),
  );
  return sounds.every((sound) => sound !== null) ? sounds.join(' ') : null;
}

/** A French sentence → a text and a lexicon that make flite pronounce it. */
export function respellFrench(
  sentence: string,
  dictionary: PronouncingDictionary,
): { text: string; lexicon: Record<string, string> } {
  const lexicon: Record<string, string> = {};
  const names = new Map<string, string>();
  const spoken = sentence
    .normalize('NFC')
    .replace(/[’ʼ]/g, "'")
    .replace(
      /(\d{1,2})[:h](\d{2})\b/g,
      (_, hours: string, minutes: string) =>
        `${frenchNumber(String(Number(hours)))} heures ${minutes === '00' ? '' : frenchNumber(String(Number(minutes)))}`,
    )
    .replace(/\d+/g, (digits) => ` ${frenchNumber(digits)} `)
    .toLowerCase();
  const text = spoken.replace(/[\p{L}\p{M}]+(?:['-][\p{L}\p{M}]+)*'?/gu, (word) => {
    const known = names.get(word);
    if (known !== undefined) return known;
    const sound = pronounce(word, dictionary);
    // Without its accents an unknown word is at least read out.
    if (sound === null) return word.normalize('NFD').replace(/\p{M}/gu, '');
    const name = wordName(names.size);
    names.set(word, name);
    lexicon[name] = toFlite(sound);
    return name;
  });
  return { text, lexicon };
}
