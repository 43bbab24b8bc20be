/**
 * Node's HTTP server. `import` makes a copy of all that a built-in module exports, and to copy `node:http` loads the whole
 * of `fetch` with it (40 ms of a start); asked for this way it does not.
 *
 * @module
 */

import type { Server as HttpsServer } from 'node:https';

export const { createServer, STATUS_CODES } = process.getBuiltinModule('node:http');
export const { createServer: createSecureServer, Server: SecureServer } =
  process.getBuiltinModule('node:https');

export type SecureServer = HttpsServer;
