/** nanobot's own web channel, as its page uses it: its settings, and a chat. */

import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { WebSocket } from 'ws';

interface Feature {
  readonly name: string;
  readonly [key: string]: unknown;
}

/** A message in a chat: what is said, and files by their paths and by addresses that the page can open. */
export interface ChatMessage {
  readonly text: string;
  readonly media?: readonly string[];
  readonly media_urls?: readonly { readonly url: string; readonly name?: string }[];
}

export class WebChat {
  readonly #base: string;
  readonly #sockets: WebSocket[] = [];

  private constructor(base: string) {
    this.#base = base;
  }

  /** Once the channel answers. */
  static async open(base: string): Promise<WebChat> {
    const chat = new WebChat(base);
    for (let tries = 0; ; tries += 1) {
      try {
        await chat.#bootstrap();
        return chat;
      } catch (error) {
        if (tries > 100) throw error;
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    }
  }

  async #bootstrap(): Promise<{ readonly token: string; readonly api_token: string }> {
    const answer = await fetch(`${this.#base}/webui/bootstrap`);
    if (!answer.ok) throw new Error(`bootstrap: ${answer.status} ${await answer.text()}`);
    return (await answer.json()) as { token: string; api_token: string };
  }

  async #settings(path: string): Promise<{ readonly features?: readonly Feature[] }> {
    const { api_token } = await this.#bootstrap();
    const answer = await fetch(`${this.#base}/api/settings/${path}`, {
      headers: { authorization: `Bearer ${api_token}` },
    });
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    return (await answer.json()) as { features?: readonly Feature[] };
  }

  /** One of the features that the settings page lists. */
  async feature(name: string): Promise<Feature | undefined> {
    const { features = [] } = await this.#settings('nanobot-features');
    return features.find((feature) => feature.name === name);
  }

  async toggle(name: string, action: 'enable' | 'disable'): Promise<void> {
    await this.#change(`settings.feature.${action}`, { name });
  }

  /** Saves fields of a channel, as its settings form does; with `enable` the channel is started anew. */
  async configure(name: string, values: Record<string, unknown>, { enable = false } = {}): Promise<void> {
    await this.#change('settings.channel.configure', { name, values, ...(enable && { enable: 'true' }) });
  }

  /** Adds an MCP server, or puts another in its place; nanobot connects to it at once. */
  async addMcpServer(name: string, command: string, args: readonly string[]): Promise<void> {
    await this.#change('settings.mcp.custom', {
      name,
      transport: 'stdio',
      command,
      args: JSON.stringify(args),
    });
  }

  /** Opens the chat of this id; what comes there is added to what it gives back. */
  async watch(chatId: string): Promise<readonly ChatMessage[]> {
    const socket = await this.#socket('watcher');
    const messages: ChatMessage[] = [];
    const attached = new Promise<void>((resolve) => {
      socket.on('message', (data) => {
        const event = JSON.parse(String(data)) as Record<string, unknown>;
        if (event.event === 'attached') resolve();
        if (event.event === 'message' && event.chat_id === chatId)
          messages.push(event as unknown as ChatMessage);
      });
    });
    socket.send(JSON.stringify({ type: 'attach', chat_id: chatId }));
    await attached;
    return messages;
  }

  /** What an address of the page's gives. */
  async bytesOf(path: string): Promise<Buffer> {
    const answer = await fetch(new URL(path, this.#base));
    if (!answer.ok) throw new Error(`${answer.status}`);
    return Buffer.from(await answer.arrayBuffer());
  }

  /** A change goes over the socket of somebody who is logged in. */
  async #change(action: string, payload: Record<string, unknown>): Promise<unknown> {
    const socket = await this.#socket('operator');
    const answered = new Promise((resolve, reject) => {
      socket.on('close', (code) => reject(new Error(`closed with ${code}`)));
      socket.on('message', (data) => {
        const event = JSON.parse(String(data)) as Record<string, unknown>;
        if (event.event !== 'webui_response') return;
        if (event.ok) resolve(event.result);
        else reject(new Error(JSON.stringify(event.error)));
      });
    });
    socket.send(JSON.stringify({ type: 'webui_request', request_id: randomUUID(), action, payload }));
    const result = await answered;
    socket.close();
    return result;
  }

  async #socket(clientId: string): Promise<WebSocket> {
    const { token } = await this.#bootstrap();
    const address = `${this.#base.replace('http', 'ws')}/?client_id=${clientId}&token=${token}`;
    const socket = new WebSocket(address);
    this.#sockets.push(socket);
    await once(socket, 'open');
    return socket;
  }

  /** Sends a message as this person, and gives back the answer. */
  async ask(clientId: string, content: string): Promise<string> {
    const socket = await this.#socket(clientId);
    const events: Record<string, unknown>[] = [];
    const answered = new Promise<string>((resolve, reject) => {
      let streamed = '';
      socket.on('error', reject);
      socket.on('close', (code) => reject(new Error(`closed with ${code}: ${JSON.stringify(events)}`)));
      socket.on('message', (data) => {
        const event = JSON.parse(String(data)) as Record<string, unknown>;
        events.push(event);
        if (event.event === 'delta') streamed += String(event.text ?? event.delta ?? '');
        // What it says in between, such as the names of tools, has a kind.
        if (event.event === 'message' && typeof event.text === 'string' && !event.kind) resolve(event.text);
        if (event.event === 'turn_end' && streamed) resolve(streamed);
      });
    });
    socket.send(content);
    const answer = await answered;
    socket.close();
    return answer;
  }

  close(): void {
    for (const socket of this.#sockets) socket.terminate();
  }
}
