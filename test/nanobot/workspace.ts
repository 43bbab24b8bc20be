/** A workspace that is the same each time it is made, times and all. */

import { mkdirSync, readdirSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** A picture of one pixel. */
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
const lines = (count: number, text: (n: number) => string) =>
  Array.from({ length: count }, (_, n) => `${text(n + 1)}\n`).join('');

const FILES: Readonly<Record<string, string | Buffer>> = {
  'a.txt': 'one\ntwo\n',
  'notes/todo.md': '# To do\n\n- buy milk\n- call Ann\n- buy bread\n',
  'notes/plan.md': 'Plan:\n  milk first\n  then bread\n',
  'notes/deep/er/x.txt': 'deep\n',
  'src/app.py': 'def main():\n    print("hello")\n\n\ndef other():\n    return main()\n',
  'src/lib.ts': 'export const milk = 1;\nexport function bread() {\n  return milk;\n}\n',
  'long.txt': lines(2500, (n) => `line ${n}`),
  'wide.txt': `${'x'.repeat(5000)}\nend\n`,
  'empty.txt': '',
  'no-newline.txt': 'last line',
  'crlf.txt': 'first\r\nsecond\r\n',
  'unicode.txt': 'żółć ☃ 日本語\nnaïve café\n',
  'tabs.txt': '\tone\n\t\ttwo  \n',
  'repeat.txt': 'same\nsame\nother\nsame\n',
  'quotes.txt': 'It’s “fine”.\n',
  'data.bin': Buffer.from([0, 1, 2, 255, 254, 0, 7]),
  'picture.png': PNG,
  'name with space.txt': 'spaced\n',
  '.hidden': 'hidden\n',
  'node_modules/x/index.js': 'milk\n',
};

/** Makes it anew at this path, beside a folder whose name begins with its own. */
export function makeWorkspace(root: string): void {
  rmSync(root, { recursive: true, force: true });
  rmSync(`${root}-evil`, { recursive: true, force: true });
  for (const [path, content] of Object.entries(FILES)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), content);
  }
  mkdirSync(`${root}-evil`, { recursive: true });
  writeFileSync(`${root}-evil/secret.txt`, 'secret\n');
  symlinkSync('/etc/passwd', join(root, 'link-out'));
  symlinkSync('a.txt', join(root, 'link-in'));
  symlinkSync('/etc', join(root, 'folder-out'));
  symlinkSync('nowhere', join(root, 'link-broken'));
  let second = 1_700_000_000;
  for (const path of readdirSync(root, { recursive: true, encoding: 'utf8' }).sort()) {
    if (path.startsWith('link-') || path.startsWith('folder-')) continue;
    second += 10;
    utimesSync(join(root, path), second, second);
  }
}
