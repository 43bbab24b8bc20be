/**
 * The two answers that we give to an incoming call, as TwiML.
 *
 * @module
 */

export interface StreamAnswer {
  /** `wss://…`, without a query: Twilio drops it. */
  readonly url: string;
  readonly token: string;
  /** Where Twilio reports the stream's start, stop and errors; only an address that it can reach. */
  readonly statusUrl?: string;
}

/** Connects the call to our stream, and ends it when the stream ends. */
export function connectStream({ url, token, statusUrl }: StreamAnswer): string {
  const status = statusUrl ? ` statusCallback="${escapeXml(statusUrl)}" statusCallbackMethod="POST"` : '';
  return document(
    `<Connect><Stream url="${escapeXml(url)}"${status}>` +
      `<Parameter name="token" value="${escapeXml(token)}"/></Stream></Connect><Hangup/>`,
  );
}

/** Says why there is nobody to talk to, so that the caller never meets dead air. */
export function sayAndHangUp(text: string): string {
  return document(`<Say language="en-US">${escapeXml(text)}</Say><Hangup/>`);
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
