import { createToolGatewayFacade, type RealtimeConfigInput, RealtimeVoiceChannel } from '../../src/index.ts';

/** What is needed of its `Runtime`. */
export interface Runtime {
  readonly tools: {
    getToolNames(): string[];
    get(name: string): { description: string; parameters: Record<string, unknown> } | undefined;
    execute(
      name: string,
      params: Record<string, unknown>,
      context: { channel: string; chatId: string },
    ): Promise<string>;
  };
  readonly channelManager: { registerChannel(name: string, channel: never): void };
}

/** Puts the voice channel into a nanobot-ts, after `createRuntime`, which starts channels by itself. */
export async function addVoice({ tools, channelManager }: Runtime, config: RealtimeConfigInput) {
  const gateway = {
    getToolDefinitions: () =>
      tools.getToolNames().map((name) => {
        const { description = '', parameters = {} } = tools.get(name) ?? {};
        return { type: 'function' as const, function: { name, description, parameters } };
      }),
    async executeTool(session: string, name: string, args: unknown, { chatId = session }) {
      let content: string;
      try {
        const params = typeof args === 'string' ? JSON.parse(args || '{}') : (args ?? {});
        // With channel and chat, so that its own approvals are asked.
        content = await tools.execute(name, params, { channel: 'realtime', chatId });
      } catch {
        content = 'Error: arguments must be an object.';
      }
      return { content, isError: content.startsWith('Error') };
    },
  };
  const { allow = ['*'], deny = [] } = config.tools ?? {};
  const channel = new RealtimeVoiceChannel(config, null, {
    toolGateway: createToolGatewayFacade(gateway, { channel: 'realtime', allow, deny }),
  });
  channelManager.registerChannel('realtime', channel as never);
  await channel.listen();
  return channel;
}
