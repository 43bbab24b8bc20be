/**
 * Cuts text where a speaker would breathe, so that the first words can be heard while the rest is made.
 *
 * @module
 */

/** Longest piece that is spoken in one go. */
export const MAX_SENTENCE_CHARS = 240;

/** Cuts one sentence that is too long at its last comma, else at its last space, within the limit. */
function cut(sentence: string, maxChars: number): string[] {
  const pieces: string[] = [];
  let rest = sentence;
  while (rest.length > maxChars) {
    const head = rest.slice(0, maxChars);
    const comma = Math.max(head.lastIndexOf(', '), head.lastIndexOf('; '), head.lastIndexOf(': '));
    const space = head.lastIndexOf(' ');
    const at = comma > maxChars / 3 ? comma + 1 : space > 0 ? space : maxChars;
    pieces.push(rest.slice(0, at).trim());
    rest = rest.slice(at).trim();
  }
  if (rest) pieces.push(rest);
  return pieces;
}

/** Sentences of at most `maxChars` characters, in order, without anything that can't be spoken. */
export function splitSentences(text: string, maxChars = MAX_SENTENCE_CHARS): string[] {
  const sentences = text
    // Control characters end a C string or mean nothing to a speaker.
    .replace(/[\p{Cc}\p{Cs}\s]+/gu, ' ')
    .split(/(?<=[.!?…]["')\]]?)\s+(?=\S)/u)
    .map((sentence) => sentence.trim())
    .filter((sentence) => /[\p{L}\p{N}]/u.test(sentence));
  return sentences.flatMap((sentence) => cut(sentence, maxChars));
}
