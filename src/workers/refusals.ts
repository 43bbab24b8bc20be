/**
 * What is answered by the process that listens itself, because there is nobody to hand it to.
 *
 * @module
 */

import type { Socket } from 'node:net';
import { isResume } from './destination.ts';
import type { RequestHead } from './request-head.ts';

/** Heard by a caller whose call can't go on. It says nothing that is not true for anybody, so nothing is verified for it. */
const APOLOGY =
  '<?xml version="1.0" encoding="UTF-8"?><Response><Say language="en-US">' +
  'Sorry, something went wrong on our side. Please call again.</Say><Hangup/></Response>';

/** A caller who is on the line hears why; everybody else is told to come again. */
export function turnAway(socket: Socket, head: RequestHead, prefix: string): void {
  if (isResume(head, prefix)) answer(socket, '200 OK', 'text/xml; charset=utf-8', APOLOGY);
  else refuse(socket, '503 Service Unavailable');
}

export function refuse(socket: Socket, status: string): void {
  answer(socket, status, null, '');
}

function answer(socket: Socket, status: string, type: string | null, body: string): void {
  socket.end(
    `HTTP/1.1 ${status}\r\nConnection: close\r\n${type === null ? '' : `Content-Type: ${type}\r\n`}` +
      `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
  socket.once('finish', () => socket.destroy());
}
