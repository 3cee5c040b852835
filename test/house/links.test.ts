// Links within the pages lead to files and headings that are there. Addresses on the web are not asked for: tests need
// no network.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { test } from 'node:test';
import { pages, proseOf, root } from './pages.ts';
import type { Page } from './pages.ts';

/** Anchors of a page's headings, as GitHub makes them: the second of one name ends in `-1`. */
function anchorsOf(text: string): ReadonlySet<string> {
  const counts = new Map<string, number>();
  const anchors = [...proseOf(text).matchAll(/^#{1,6} +(.+?) *#*$/gm)].map(([, heading]) => {
    const words = heading!.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase();
    const anchor = words.replaceAll(/[^\p{L}\p{N}\p{M}_\- ]/gu, '').replaceAll(' ', '-');
    const count = counts.get(anchor) ?? 0;
    counts.set(anchor, count + 1);
    return count === 0 ? anchor : `${anchor}-${count}`;
  });
  return new Set(anchors);
}

/** Why a link of a page leads nowhere; undefined when it does lead somewhere. */
function fault(page: Page, link: string): string | undefined {
  if (/^(?:https?|mailto):/.test(link)) return URL.canParse(link) ? undefined : 'is no address';
  const [path = '', anchor] = link.split('#');
  const target = path === '' ? page.path : normalize(join(dirname(page.path), decodeURI(path)));
  if (path.startsWith('/') || target.startsWith('..')) return 'leads out of the project';
  if (path !== '' && !existsSync(join(root, target))) return 'there is no such file';
  if (anchor === undefined) return undefined;
  if (!target.endsWith('.md')) return 'has an anchor, but leads to no page';
  const text = path === '' ? page.text : readFileSync(join(root, target), 'utf8');
  return anchorsOf(text).has(anchor) ? undefined : 'there is no such heading';
}

/** `[text](link)`, `[text](link "title")`, and `[name]: link`. */
const linkForm = /\]\(<?([^)\s>]+)>?(?: +"[^"]*")?\)|^\[[^\]]+\]: +(\S+)/gm;

function faultsOf(page: Page): readonly string[] {
  const prose = proseOf(page.text).replaceAll(/`[^`\n]*`/g, (code) => (code.includes('](') ? '' : code));
  return [...prose.matchAll(linkForm)].flatMap(([, inline, named]) => {
    const link = (inline ?? named)!;
    const why = fault(page, link);
    return why === undefined ? [] : [`${page.path}: ${link}: ${why}`];
  });
}

test('links between pages lead somewhere', () => {
  assert.ok(pages.length > 40);
  for (const path of ['README.md', 'SECURITY.md', 'CONTRIBUTING.md', 'charts/portcullis/README.md'])
    assert.ok(pages.some((page) => page.path === path));
  assert.deepEqual(pages.flatMap(faultsOf), []);
});

test('a link that leads nowhere is noticed', () => {
  const faults = (text: string, path = 'docs/how-to/x.md'): readonly string[] =>
    faultsOf({ path, text }).map((each) => each.slice(path.length + 2));
  assert.deepEqual(faults('[a](../architecture.md) [b](../architecture.md#the-rooms) [c](#here)\n\n## Here\n'), []);
  assert.deepEqual(faults('[a](../architecture.md#the-room)'), [
    '../architecture.md#the-room: there is no such heading',
  ]);
  assert.deepEqual(faults('[a](../gone.md)'), ['../gone.md: there is no such file']);
  assert.deepEqual(faults('[a]: ../gone.md'), ['../gone.md: there is no such file']);
  assert.deepEqual(faults('[a](../../../x.md)'), ['../../../x.md: leads out of the project']);
  assert.deepEqual(faults('[a](../../package.json#name)'), [
    '../../package.json#name: has an anchor, but leads to no page',
  ]);
  assert.deepEqual(faults('[a](#b)\n\n```sh\n# b\n```\n'), ['#b: there is no such heading']);
  assert.deepEqual(faults('[a](#b-1)\n\n## B\n\n### `B`?\n'), []);
  assert.deepEqual(faults('[a](https://)'), ['https://: is no address']);
});
