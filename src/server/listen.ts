import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { VoiceError } from '../errors.ts';
import { SecureServer } from './node-http.ts';

export interface ListeningAddress {
  readonly host: string;
  readonly port: number;
  readonly url: string;
}

/** @throws VoiceError `ADDRESS_IN_USE`, `CONFIG_INVALID` when the machine has no such address or forbids the port */
export function listen(server: Server | SecureServer, host: string, port: number): Promise<ListeningAddress> {
  return new Promise((resolve, reject) => {
    const onError = (error: NodeJS.ErrnoException) => reject(listenError(error, host, port));
    server.once('error', onError);
    server.listen({ host, port }, () => {
      server.off('error', onError);
      const address = server.address() as AddressInfo;
      const scheme = server instanceof SecureServer ? 'https' : 'http';
      const urlHost = address.family === 'IPv6' ? `[${address.address}]` : address.address;
      resolve({ host: address.address, port: address.port, url: `${scheme}://${urlHost}:${address.port}` });
    });
  });
}

function listenError(error: NodeJS.ErrnoException, host: string, port: number): VoiceError {
  if (error.code === 'EADDRINUSE') {
    return new VoiceError(
      'ADDRESS_IN_USE',
      `Something else already listens on ${host}:${port}. Stop it, or choose another port ` +
        '(--port, or channels.realtime.server.port).',
      { cause: error },
    );
  }
  return new VoiceError(
    'CONFIG_INVALID',
    `Cannot listen on ${host}:${port} (${error.code ?? 'unknown error'}): check channels.realtime.server.host and .port.`,
    { cause: error },
  );
}
