import { readdir } from 'node:fs/promises';
import type { Clock } from '../../clock.ts';
import { createToolGatewayFacade, runGuarded, type ToolGateway } from '../../gateway/index.ts';
import {
  createBuiltinTools,
  FileStateStore,
  SsrfPolicy,
  ToolRegistry,
  WorkspacePolicy,
} from '../../host/index.ts';
import type { Store } from '../../store/index.ts';
import type { DemoFolders } from './workspace.ts';

export interface DemoHost {
  readonly gateway: ToolGateway;
  readonly slotValues: (slot: string) => Promise<string[]>;
  close(): Promise<void>;
}

export async function createDemoHost({
  folders,
  clock,
}: {
  folders: DemoFolders;
  store: Store;
  clock: Clock;
}): Promise<DemoHost> {
  const registry = new ToolRegistry();
  const policy = new WorkspacePolicy({ workspace: folders.workspace, reservedRoots: [folders.home] });
  for (const tool of createBuiltinTools({ policy, ssrf: new SsrfPolicy(), clock })) registry.register(tool);
  const states = new FileStateStore();
  const gateway: ToolGateway = {
    getToolDefinitions: () => registry.getDefinitions(),
    executeTool: (sessionKey, name, args, { channel, chatId, signal }) =>
      runGuarded(
        {
          fileStates: states.forSession(sessionKey),
          request: { channel, chatId: chatId ?? sessionKey, messageId: null, sessionKey, metadata: {} },
          workspaceScope: { workspace: folders.workspace, restrictToWorkspace: true, sourceChannel: null },
        },
        () => registry.execute(name, args, signal ? { signal } : {}),
      ),
  };
  return {
    gateway: createToolGatewayFacade(gateway, { channel: 'realtime' }),
    slotValues: () => readdir(folders.workspace),
    close: () => Promise.resolve(),
  };
}
