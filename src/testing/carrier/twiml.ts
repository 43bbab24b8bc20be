/**
 * Reads TwiML as strictly as Twilio does: well-formed, verbs and attributes that exist, and nothing else.
 *
 * @module
 */

export interface TwimlElement {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly children: readonly TwimlElement[];
  readonly text: string;
}

/** What each element may have, of what our server uses. */
const KNOWN: Readonly<Record<string, readonly string[]>> = {
  Response: [],
  Connect: ['action', 'method'],
  Stream: ['url', 'name', 'track', 'statusCallback', 'statusCallbackMethod'],
  Parameter: ['name', 'value'],
  Redirect: ['method'],
  Hangup: [],
  Say: ['language', 'voice', 'loop'],
  Play: ['digits', 'loop'],
  Dial: ['action', 'method', 'timeout', 'answerOnBridge', 'callerId'],
  Number: [],
  Sip: [],
};

const TOKEN = /<\?[^>]*\?>|<(\/?)([A-Za-z]+)((?:\s+[A-Za-z]+="[^"<]*")*)\s*(\/?)>|([^<]+)/gy;

const ENTITIES: Readonly<Record<string, string>> = {
  '&amp;': '&',
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&apos;': "'",
};

/** The verbs of a document, in order. @throws Error saying what Twilio would not take */
export function parseTwiml(document: string): readonly TwimlElement[] {
  type Open = { name: string; attributes: Record<string, string>; children: TwimlElement[]; text: string };
  const root: Open = { name: '', attributes: {}, children: [], text: '' };
  const stack: Open[] = [root];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < document.length) {
    const match = TOKEN.exec(document);
    const top = stack.at(-1) as Open;
    if (!match) throw new Error('TwiML 12100: not well-formed');
    const [, closing, name, attributes = '', empty, text] = match;
    if (text !== undefined) top.text += unescaped(text);
    else if (name === undefined) continue;
    else if (closing) {
      if (top.name !== name) throw new Error(`TwiML 12100: </${name}> closes <${top.name}>`);
      stack.pop();
    } else {
      const allowed = KNOWN[name];
      if (!allowed) throw new Error(`TwiML 12200: there is no <${name}>`);
      const element: Open = { name, attributes: {}, children: [], text: '' };
      for (const [, key = '', value = ''] of attributes.matchAll(/([A-Za-z]+)="([^"]*)"/g)) {
        if (!allowed.includes(key)) throw new Error(`TwiML 12200: <${name}> has no ${key}`);
        element.attributes[key] = unescaped(value);
      }
      top.children.push(element);
      if (!empty) stack.push(element);
    }
  }
  const [response, ...others] = root.children;
  if (stack.length > 1 || response?.name !== 'Response' || others.length > 0)
    throw new Error('TwiML 12100: not one <Response>');
  return response.children;
}

/** The first element of that name, however deep. */
export function findElement(elements: readonly TwimlElement[], name: string): TwimlElement | null {
  for (const element of elements) {
    const found = element.name === name ? element : findElement(element.children, name);
    if (found) return found;
  }
  return null;
}

function unescaped(text: string): string {
  return text.replace(/&\w+;/g, (entity) => ENTITIES[entity] ?? entity);
}
