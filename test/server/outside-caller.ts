import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const SCRIPT = fileURLToPath(new URL('./outside-caller.mjs', import.meta.url));

export interface OutsideCall {
  readonly webhookStatus: number;
  readonly twiml: string;
  /** Status of the upgrade; 101 when there was a stream. */
  readonly upgradeStatus?: number;
  readonly closeCode?: number | null;
  readonly heardBytes?: number;
  /** Marks that came back, and how often what was playing was cleared. */
  readonly marks?: number;
  readonly clears?: number;
  /** What the caller heard, raw µ-law in base64. */
  readonly heard?: string;
}

export interface OutsideCallOptions {
  readonly url: string;
  readonly authToken: string;
  readonly callSid?: string;
  readonly token?: 'right' | 'wrong' | 'none';
  readonly audioFile?: string;
  readonly digits?: string;
  readonly frames?: number;
  readonly lingerMs?: number;
}

/** Places a call from a process of its own. */
export async function placeOutsideCall(options: OutsideCallOptions): Promise<OutsideCall> {
  const { stdout } = await promisify(execFile)(process.execPath, [SCRIPT, JSON.stringify(options)], {
    maxBuffer: 64 * 1024 * 1024,
  });
  return JSON.parse(stdout) as OutsideCall;
}
