/** A small MCP server's tools, for the fixture over stdio and the one over HTTP. */

import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { z } from 'zod';

export function fixtureServer(): McpServer {
  const server = new McpServer(
    { name: 'fixture', version: '1.0.0' },
    { capabilities: { tools: { listChanged: true } } },
  );
  const text = (value: string) => ({ content: [{ type: 'text' as const, text: value }] });

  server.registerTool(
    'echo',
    { description: 'Says it again', inputSchema: { text: z.string() }, annotations: { readOnlyHint: true } },
    async (args) => text(args.text),
  );
  server.registerTool('env', { description: 'Names of its variables' }, async () =>
    text(JSON.stringify(Object.keys(process.env).sort())),
  );
  server.registerTool('pid', { description: 'Its process' }, async () => text(String(process.pid)));
  server.registerTool('die', { description: 'Dies' }, async () => {
    process.kill(process.pid, 'SIGKILL');
    return text('never');
  });
  server.registerTool('hang', { description: 'Never answers' }, () => new Promise(() => {}));
  server.registerTool('slow', { description: 'Says how far it is' }, async ({ _meta, sendNotification }) => {
    const progressToken = _meta?.progressToken;
    if (progressToken === undefined) return text('nobody asked');
    const report = (params: { progress: number; total?: number; message?: string }) =>
      sendNotification({ method: 'notifications/progress', params: { progressToken, ...params } });
    await report({ progress: 1, total: 4 });
    await report({ progress: 2, message: 'Half of it' });
    // The client forgets whom to tell as soon as the result is there.
    await new Promise((resolve) => setTimeout(resolve, 100));
    return text('done');
  });
  server.registerTool('fail', { description: 'Fails' }, async () => ({
    ...text('it failed'),
    isError: true,
  }));
  server.registerTool('nothing', { description: 'Gives nothing' }, async () => ({ content: [] }));
  server.registerTool('picture', { description: 'A picture' }, async () => ({
    content: [
      { type: 'text' as const, text: 'look' },
      { type: 'image' as const, data: 'AAAA', mimeType: 'image/png' },
    ],
  }));
  server.registerTool('grow', { description: 'Makes another tool' }, async () => {
    server.registerTool('grown', { description: 'New' }, async () => text('new'));
    return text('grown');
  });
  for (let index = 0; index < Number(process.env.FIXTURE_TOOLS ?? 0); index += 1) {
    server.registerTool(`extra_${index}`, { description: 'One of many' }, async () => text(`${index}`));
  }
  return server;
}
