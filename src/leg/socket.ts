/**
 * The least a leg needs of a WebSocket. The server wraps `ws` in it, tests an in-memory pair; a leg never
 * knows which.
 *
 * @module
 */

/** Who gets what arrives on a `TextSocket`. */
export interface TextSocketSink {
  /** One whole message: text, or bytes when the peer sent a binary frame. */
  message(data: string | Uint8Array): void;
  /** The socket is closed, by either side or by the network. Called at most once, and nothing follows it. */
  closed(code: number): void;
}

export interface TextSocket {
  /** Bytes accepted by `send` and not yet handed to the network. */
  readonly bufferedAmount: number;
  /** Sets the one sink, in place of the one before; `null` drops what arrives. */
  listen(sink: TextSocketSink | null): void;
  /**
   * Queues one text message; does nothing once the socket is closing.
   *
   * @param isAscii - known to be, as most of the sound is: it need not be looked through
   */
  send(text: string, isAscii?: boolean): void;
  /** Starts the closing handshake. Idempotent. */
  close(code?: number, reason?: string): void;
}
