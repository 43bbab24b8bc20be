import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { runGuarded, type ToolResult, toolResultText } from '../../../src/gateway/index.ts';
import { FileStateStore, SsrfPolicy, WorkspacePolicy } from '../../../src/host/guards/index.ts';
import { ToolRegistry } from '../../../src/host/registry.ts';
import { type BuiltinToolsOptions, createBuiltinTools } from '../../../src/host/tools/index.ts';

/** What lies outside and must never be seen in a result. */
export const SECRET = 'the-secret-that-lies-outside';

export interface CallOptions {
  readonly session?: string;
  readonly restrict?: boolean;
  readonly sourceChannel?: string | null;
  readonly signal?: AbortSignal;
}

export interface TestWorkspace {
  /** Physical path of the folder that holds everything. */
  readonly base: string;
  /** Physical path of the workspace. */
  readonly root: string;
  readonly outside: string;
  readonly registry: ToolRegistry;
  readonly policy: WorkspacePolicy;
  call(name: string, args: unknown, options?: CallOptions): Promise<ToolResult>;
  text(name: string, args: unknown, options?: CallOptions): Promise<string>;
  write(path: string, content: string | Uint8Array): void;
  read(path: string): string;
  link(target: string, path: string): void;
  remove(): void;
}

type Options = Partial<BuiltinToolsOptions> & { readonly reservedRoots?: readonly string[] };

/** A workspace on disk with the built-in tools over it. Paths are relative to the workspace. */
export function makeWorkspace(options: Options = {}): TestWorkspace {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'nanobot-tools-')));
  const root = join(base, 'ws');
  const outside = join(base, 'outside');
  for (const folder of [root, outside, join(base, 'ws-evil')]) {
    mkdirSync(folder);
    writeFileSync(
      join(folder, folder === root ? 'a.txt' : 'secret.txt'),
      folder === root ? 'one\ntwo\n' : SECRET,
    );
  }
  const policy = new WorkspacePolicy({
    workspace: root,
    home: join(base, 'home'),
    reservedRoots: (options.reservedRoots ?? []).map((path) => join(base, path)),
  });
  const registry = new ToolRegistry();
  const tools = createBuiltinTools({ policy, ssrf: new SsrfPolicy(), ...options });
  for (const tool of tools) registry.register(tool);
  const store = new FileStateStore();
  const at = (path: string) => join(root, path);

  const workspace: TestWorkspace = {
    base,
    root,
    outside,
    registry,
    policy,
    call: (name, args, { session = 'test:1', restrict = true, sourceChannel = null, signal } = {}) =>
      runGuarded(
        {
          fileStates: store.forSession(session),
          request: { channel: 'test', chatId: '1', messageId: null, sessionKey: session, metadata: {} },
          workspaceScope: { workspace: root, restrictToWorkspace: restrict, sourceChannel },
        },
        () => registry.execute(name, args, signal ? { signal } : {}),
      ),
    text: async (name, args, callOptions) => toolResultText(await workspace.call(name, args, callOptions)),
    write: (path, content) => {
      mkdirSync(dirname(at(path)), { recursive: true });
      writeFileSync(at(path), content);
    },
    read: (path) => readFileSync(at(path), 'utf8'),
    link: (target, path) => {
      mkdirSync(dirname(at(path)), { recursive: true });
      symlinkSync(target, at(path));
    },
    remove: () => rmSync(base, { recursive: true, force: true }),
  };
  return workspace;
}
