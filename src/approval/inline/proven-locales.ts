/**
 * Locales in which a spoken answer may decide: those whose recogniser was measured on a corpus of answers and approved
 * nothing by mistake (docs/reference/approvals.md). A recogniser alone is no proof.
 */
export const SPOKEN_ANSWER_LOCALES: readonly string[] = ['en-us'];
