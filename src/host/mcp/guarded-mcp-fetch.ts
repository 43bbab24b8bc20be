import type { FetchLike } from '@modelcontextprotocol/sdk/shared/transport.js';
import { Agent, type buildConnector, fetch as undiciFetch } from 'undici';
import { pinnedConnector } from '../guards/pinned-connector.ts';
import type { SsrfPolicy } from '../guards/ssrf-policy.ts';

/** Connections to one server. */
const MAX_CONNECTIONS = 8;

/**
 * `fetch` for one MCP server: every new connection is checked by the SSRF policy and made to the addresses that
 * were checked, as nanobot checks the URLs of MCP servers; `tools.ssrfWhitelist` opens private ranges.
 */
export function guardedMcpFetch(policy: SsrfPolicy): { fetch: FetchLike; close: () => Promise<void> } {
  const connect: buildConnector.connector = (options, callback) => {
    const host = options.hostname.includes(':') ? `[${options.hostname}]` : options.hostname;
    policy.check(`${options.protocol}//${host}/`).then(
      (verdict) => {
        if (verdict.ok) pinnedConnector(verdict.addresses)(options, callback);
        else callback(new Error(verdict.reason), null);
      },
      () => callback(new Error('the address could not be checked'), null),
    );
  };
  const agent = new Agent({ connect, connections: MAX_CONNECTIONS, headersTimeout: 0, bodyTimeout: 0 });
  return {
    fetch: (url, init) => undiciFetch(url, { ...init, redirect: 'error', dispatcher: agent }),
    close: () => agent.destroy(),
  };
}
