import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { fixtureServer } from './fixture-tools.ts';

console.error('noise on stderr that nobody is to see');
await fixtureServer().connect(new StdioServerTransport());
