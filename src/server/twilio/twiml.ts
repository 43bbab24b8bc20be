/**
 * What we have Twilio do with a call, as TwiML.
 *
 * @module
 */

export interface StreamAnswer {
  /** `wss://…`, without a query: Twilio drops it. */
  readonly url: string;
  readonly token: string;
  /** Asked when the stream is over: the call goes on with another one, or ends. */
  readonly resumeUrl: string;
  /** Where Twilio reports the stream's start, stop and errors; only an address that it can reach. */
  readonly statusUrl?: string;
}

/** How long the phone of somebody that a call is transferred to rings. */
const RING_S = 30;

/** Connects the call to our stream, and asks us what is next when the stream is over. */
export function connectStream({ url, token, resumeUrl, statusUrl }: StreamAnswer): string {
  const status = statusUrl ? ` statusCallback="${escapeXml(statusUrl)}" statusCallbackMethod="POST"` : '';
  return document(
    `<Connect><Stream url="${escapeXml(url)}"${status}>` +
      `<Parameter name="token" value="${escapeXml(token)}"/></Stream></Connect>${redirect(resumeUrl)}`,
  );
}

/** Says why there is nobody to talk to, so that the caller never meets dead air. */
export function sayAndHangUp(text: string): string {
  return document(`<Say language="en-US">${escapeXml(text)}</Say><Hangup/>`);
}

export function hangUp(): string {
  return document('<Hangup/>');
}

/**
 * Connects the caller to somebody else.
 *
 * @param target - a number in E.164, or a SIP address
 * @param doneUrl - asked what is next when that is over, or nobody answered
 */
export function dial(target: string, doneUrl: string): string {
  const noun = /^sips?:/.test(target) ? 'Sip' : 'Number';
  return document(
    `<Dial answerOnBridge="true" timeout="${RING_S}" action="${escapeXml(doneUrl)}" method="POST">` +
      `<${noun}>${escapeXml(target)}</${noun}></Dial>`,
  );
}

/** Plays keys to the line, and asks us what is next. */
export function playDigits(digits: string, resumeUrl: string): string {
  // Twilio knows only the half second.
  const keys = digits.replaceAll('W', 'ww');
  return document(`<Play digits="${escapeXml(keys)}"/>${redirect(resumeUrl)}`);
}

function redirect(url: string): string {
  return `<Redirect method="POST">${escapeXml(url)}</Redirect>`;
}

function document(verbs: string): string {
  return `<?xml version="1.0" encoding="UTF-8"?><Response>${verbs}</Response>`;
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
};

function escapeXml(text: string): string {
  return text.replace(/[&<>"']/g, (char) => ENTITIES[char] ?? char);
}
