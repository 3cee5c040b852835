import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';

const root = join(import.meta.dirname, '../..');
const page = readFileSync(join(root, 'docs/how-to/troubleshooting.md'), 'utf8');
const code = globSync('{auth,cache,gateway,routing,search}/**/*.ts', { cwd: root })
  .filter((file) => !/\.(?:test|fixture)\.ts$|(?:^|\/)test-/.test(file))
  .map((file) => readFileSync(join(root, file), 'utf8').replaceAll("\\'", "'"))
  .join('\n');

/** Texts of kubectl and the hub's aggregator, which are not ours to keep. */
const foreign = ['Error from server (NotFound): ', 'error trying to reach service: …'];

/** How far apart in the sources the pieces of one message may be. */
const messageLength = 400;

/** Whether the program has this text; `…` is whatever a template puts there. */
function isSaid(quoted: string): boolean {
  const pieces = quoted.split('…').filter((piece) => piece.trim() !== '');
  const anchor = pieces.toSorted((one, other) => other.length - one.length)[0]!;
  for (let at = code.indexOf(anchor); at >= 0; at = code.indexOf(anchor, at + 1)) {
    const around = code.slice(Math.max(0, at - messageLength), at + messageLength);
    let from = 0;
    const found = pieces.every((piece) => {
      const index = around.indexOf(piece, from);
      from = index + piece.length;
      return index >= 0;
    });
    if (found) return true;
  }
  return false;
}

test('B9: every text quoted for troubleshooting is still a text of the program', () => {
  const quoted = [...page.matchAll(/^### `(.+)`$/gm)].map(([, text]) => text!);
  assert.ok(quoted.length > 35);
  const ours = quoted.filter((text) => !foreign.some((start) => text.startsWith(start)));
  assert.deepEqual(
    ours.filter((text) => !isSaid(text)),
    [],
  );
  assert.ok(
    !isSaid('cluster "…" has run away') && !isSaid('connection refused by … again'),
    'a text nobody has is noticed',
  );
});

test('B9: links between pages lead somewhere', () => {
  const files = globSync('{docs,charts}/**/*.md', { cwd: root });
  const broken = files.flatMap((file) =>
    [...readFileSync(join(root, file), 'utf8').matchAll(/\]\(([^)\s]+)\)/g)]
      .map(([, link]) => link!)
      .filter((link) => !/^https?:/.test(link))
      .filter((link) => {
        const [path = '', anchor] = link.split('#');
        const target = path === '' ? file : join(dirname(file), path);
        if (!existsSync(join(root, target))) return true;
        if (anchor === undefined) return false;
        const headings = [...readFileSync(join(root, target), 'utf8').matchAll(/^#+ (.+)$/gm)].map(([, heading]) =>
          heading!
            .toLowerCase()
            .replaceAll(/[^a-z0-9 -]/g, '')
            .replaceAll(' ', '-'),
        );
        return !headings.includes(anchor);
      })
      .map((link) => `${file}: ${link}`),
  );
  assert.deepEqual(broken, []);
});

test("B9: the chart's page names every value", () => {
  const readme = readFileSync(join(root, 'charts/portcullis/README.md'), 'utf8');
  const values = parse(readFileSync(join(root, 'charts/portcullis/values.yaml'), 'utf8')) as object;
  const paths = (value: unknown, prefix: string): string[] =>
    typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length > 0
      ? Object.entries(value).flatMap(([key, inner]) => paths(inner, prefix === '' ? key : `${prefix}.${key}`))
      : [prefix];
  assert.deepEqual(
    paths(values, '').filter((path) => !readme.includes(`\`${path}\``)),
    [],
  );
});
