import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { COMMANDS } from '../../src/cli/main.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

function run(...args: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['bin/nanobot-realtime.js', ...args], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  return { status, stdout, stderr };
}

describe('the command line', () => {
  it('prints the version of the package', () => {
    const { version } = JSON.parse(readFileSync(`${ROOT}/package.json`, 'utf8')) as { version: string };
    expect(run('--version')).toEqual({ status: 0, stdout: `${version}\n`, stderr: '' });
  });

  it('has a help with examples, for itself and for every command', () => {
    const help = run('--help');
    expect(help).toMatchObject({ status: 0, stderr: '' });
    for (const word of ['start', 'demo', 'Examples:', 'Exit codes:']) expect(help.stdout).toContain(word);
    for (const command of ['start', 'demo']) {
      const { status, stdout } = run(command, '--help');
      expect(status).toBe(0);
      expect(stdout).toContain('Examples:');
    }
  });

  it.each([
    [['start', '--prot', '1'], /unknown option '--prot'\n\(Did you mean --port\?\)/],
    [['strat'], /unknown command 'strat'\n\(Did you mean start\?\)/],
    [['start', '--port', 'x'], /A port is a number from 0 to 65535/],
    [['start', '--port', '65536'], /A port is a number from 0 to 65535/],
    [['start', 'now'], /too many arguments/],
  ])('says what is wrong with %j, and ends with 2', (args, message) => {
    const { status, stderr } = run(...args);
    expect(stderr).toMatch(message);
    expect(status).toBe(2);
  });

  it('ends with 78 and says which file is not there', () => {
    const { status, stderr } = run('start', '--config', '/nonexistent/config.json');
    expect(stderr).toBe('CONFIG_NOT_FOUND: There is no file at /nonexistent/config.json.\n');
    expect(status).toBe(78);
  });
});

describe('a command', () => {
  it.each(Object.entries(COMMANDS))(
    '%s is in the list under its own summary',
    async (name, { summary, load }) => {
      const program = new Command();
      (await load())(program);
      expect(program.commands.map((each) => [each.name(), each.summary()])).toEqual([[name, summary]]);
    },
  );
});
