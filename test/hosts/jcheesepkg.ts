import type { AgentLoop, ChannelManager } from '@jcheesepkg/nanobot';
import { createToolGatewayFacade, type RealtimeConfigInput, RealtimeVoiceChannel } from '../../src/index.ts';

/** Puts the voice channel into a nanobot. Call it before `manager.startAll()`. */
export function addVoice(loop: AgentLoop, manager: ChannelManager, config: RealtimeConfigInput) {
  const gateway = {
    getToolDefinitions: () => loop.tools.getDefinitions(),
    async executeTool(_session: string, name: string, args: unknown, { chatId = '' }) {
      const parsed = objectOf(args);
      if (!parsed) return { content: 'Error: arguments must be an object.', isError: true };
      // Its message, spawn and cron tools answer whoever was set last.
      const tool: unknown = loop.tools.get(name);
      if (hasContext(tool)) tool.setContext('realtime', chatId);
      const content = await loop.tools.execute(name, parsed);
      return { content, isError: content.startsWith('Error') };
    },
  };
  // Its bus brings no metadata back, so a request for the whole agent goes to the loop itself.
  const agent = {
    async publishInbound(message: { content: string; chatId: string; metadata: object }) {
      const { content, chatId, metadata } = message;
      if (content === '/stop') return;
      const answer = await loop.processDirect(content, `realtime:${chatId}`, 'realtime', chatId);
      await channel.send({ chatId, content: answer, metadata: { ...metadata } });
    },
  };
  const { allow = ['*'], deny = [] } = config.tools ?? {};
  const channel = new RealtimeVoiceChannel(config, agent, {
    toolGateway: createToolGatewayFacade(gateway, { channel: 'realtime', allow, deny }),
  });
  manager.channels.set('realtime', channel as never);
  return channel;
}

function objectOf(args: unknown): Record<string, unknown> | null {
  try {
    const value: unknown = typeof args === 'string' ? JSON.parse(args || '{}') : (args ?? {});
    return typeof value === 'object' ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

const hasContext = (tool: unknown): tool is { setContext(channel: string, chatId: string): void } =>
  typeof tool === 'object' && tool !== null && 'setContext' in tool;
