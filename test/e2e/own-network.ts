/** Programs in a network namespace of their own: nothing of them reaches any other network, nor the other way round. */

import { execFileSync, spawnSync } from 'node:child_process';

/** The address there besides loopback, which some programs never offer to others. */
export const OWN_ADDRESS = '10.99.0.1';

const SET_UP = [
  'ip link set lo up',
  'ip link add v0 type veth peer name v1',
  `ip addr add ${OWN_ADDRESS}/24 dev v0`,
  'ip link set v0 up',
  'ip link set v1 up',
].join(' && ');

/** Why there can be no such network here; `null` when there can. */
export function noOwnNetwork(): string | null {
  const tried = spawnSync('unshare', ['-n', 'sh', '-c', SET_UP], { encoding: 'utf8' });
  if (tried.error) return 'unshare (util-linux) is missing';
  return tried.status === 0 ? null : 'network namespaces can’t be made here (root and iproute2 are needed)';
}

/** Runs a command there, to its end. @returns what it printed */
export function inOwnNetwork(command: readonly string[], env: Record<string, string>, timeoutMs: number) {
  const { stdout, stderr, status } = spawnSync(
    'unshare',
    ['-n', 'sh', '-c', `${SET_UP} && exec "$@"`, 'sh', ...command],
    { encoding: 'utf8', env: { ...process.env, ...env }, timeout: timeoutMs, killSignal: 'SIGKILL' },
  );
  return { stdout, stderr, status };
}

/** Whether a program is on this machine. */
export function isInstalled(program: string): boolean {
  try {
    execFileSync('sh', ['-c', 'command -v "$1"', 'sh', program], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
