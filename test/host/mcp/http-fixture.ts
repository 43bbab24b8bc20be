import { randomUUID } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { fixtureServer } from './fixture-tools.ts';

export interface HttpFixture {
  readonly url: string;
  readonly port: number;
  /** Headers of every request so far. */
  readonly authorizations: string[];
  close(): Promise<void>;
}

/** The fixture's tools over streamable HTTP on loopback. */
export async function startHttpFixture(port = 0): Promise<HttpFixture> {
  const sessions = new Map<string, StreamableHTTPServerTransport>();
  const authorizations: string[] = [];
  const server: Server = createServer(async (request, response) => {
    authorizations.push(request.headers.authorization ?? '');
    const id = request.headers['mcp-session-id'];
    let transport = typeof id === 'string' ? sessions.get(id) : undefined;
    if (!transport) {
      if (typeof id === 'string') {
        response.writeHead(404).end();
        return;
      }
      const made = new StreamableHTTPServerTransport({
        sessionIdGenerator: () => randomUUID(),
        onsessioninitialized: (session) => void sessions.set(session, made),
      });
      transport = made;
      await fixtureServer().connect(made as Parameters<ReturnType<typeof fixtureServer>['connect']>[0]);
    }
    await transport.handleRequest(request, response);
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('no address');
  return {
    url: `http://127.0.0.1:${address.port}/mcp`,
    port: address.port,
    authorizations,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
