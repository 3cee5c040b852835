// Lists that filter by a path without an index, over HTTP: a page reads a bounded number of objects. A page that ended
// early may be empty and is not the last, so a client that goes on by its tokens must come to every row, once and in
// order.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Answer, IndexedList, IndexedObject, IndexSite } from './index-site.ts';

const annotation = 'shadow.clusterpedia.io/cluster-name';
const native = '/apis/search.portcullis.io/v1alpha1/indexes/default/proxy/api/v1/configmaps';
const clusterpedia = '/apis/clusterpedia.io/v1beta1/resources/api/v1/configmaps';
const collection = '/apis/clusterpedia.io/v1beta1/collectionresources/any?resources=/v1/configmaps,/namespaces';
const index = '/apis/search.portcullis.io/v1alpha1/indexes/default';
/** Objects that are looked into, of those that many paths through lists are looked for in. */
const mostLooked = 3;
const costly = Array.from({ length: 54 }, (_, i) => `spec.x${i}${'.y[]'.repeat(14)}.a`);

type Listed = IndexedList & { readonly continue?: string; readonly remainingItemCount?: number };

/**
 * Registers it. @param site the one of the file, once it runs; with ConfigMaps labelled `place`, whose `data.phase` is
 * one, two or three
 */
export function testEarlyPages(site: () => IndexSite): void {
  const get = (path: string, user = 'admin'): Promise<Answer> => site().ask(path, user);
  const names = ({ items }: IndexedList): string[] =>
    items.map(({ kind, metadata }: IndexedObject) => {
      return `${metadata.annotations?.[annotation]}/${metadata.namespace}/${kind}/${metadata.name}`;
    });
  const warningsOf = ({ headers }: Answer): string => String(headers['warning'] ?? '');

  /** All pages of a list by its tokens. */
  async function pagesOf(
    path: string,
    user = 'admin',
  ): Promise<{ found: string[]; pages: Listed[]; warnings: Set<string> }> {
    const pages: Listed[] = [];
    const warnings = new Set<string>();
    for (let token: string | undefined; ;) {
      const answer = await get(token === undefined ? path : `${path}&continue=${token}`, user);
      assert.equal(answer.status, 200, answer.text);
      const page = answer.json<Listed>();
      pages.push(page);
      token = page.metadata.continue ?? page.continue;
      if (token === undefined) break;
      assert.ok(pages.length < 60);
      if (page.items.length < 2) warnings.add(warningsOf(answer));
    }
    return { found: pages.flatMap(names), pages, warnings };
  }

  const filtered = (operator: string): string =>
    encodeURIComponent(['data.phase=two', ...costly.map((path) => `${path}${operator}v`)].join(','));
  const query = `labelSelector=place&filter=${filtered('=')}`;

  test('pages by paths that are not indexed end early and are together the whole list', async () => {
    for (const [path, user] of [
      [`${native}?labelSelector=place&fieldSelector=${filtered('!=')}`, 'admin'],
      [`${clusterpedia}?${query}&orderby=${encodeURIComponent('name desc')}`, 'admin'],
      [`${clusterpedia}?${query}&orderby=created_at`, 'viewer'],
      [`${collection}&${query}`, 'admin'],
    ] as const) {
      const whole = (await get(path, user)).json<Listed>();
      assert.equal(whole.items.length, user === 'admin' ? 4 : 1);
      const { found, pages, warnings } = await pagesOf(`${path}&limit=2`, user);
      assert.deepEqual(found, names(whole));
      assert.equal(new Set(pages.map(({ metadata }) => metadata.resourceVersion)).size, 1);
      if (user === 'viewer') continue;
      assert.ok(pages.length >= 12 / mostLooked, `${pages.length} pages`);
      // One text for all of them: kubectl tells it once.
      assert.equal(warnings.size, 1);
      assert.match([...warnings][0]!, /ended early.*data\.phase.*not indexed.*at most 3 of them.*configmaps\.: none/);
    }
  });

  test('what cannot be answered without a token is refused, not shortened', async () => {
    const refusals: readonly (readonly [string, RegExp])[] = [
      [`${native}?${query}&limit=4&continue=0`, /do not use withContinue or a number in continue=/],
      [`${native}?${query}&limit=4&withContinue=false`, /but the continue token of each page/],
      [`${index}/counts?resource=configmaps&${query}`, /narrow the query by cluster, namespace, name or label/],
      [`${index}/facets?resource=configmaps&by=cluster&${query}`, /more than 3 of them/],
      [`${index}/facets?resource=configmaps&by=data.phase&${query}`, /more than 3 of them/],
      [`${index}/values?resource=configmaps&by=metadata.labels.app&${query}`, /more than 3 of them/],
    ];
    for (const [path, message] of refusals) {
      const answer = await get(path);
      assert.equal(answer.status, 400, answer.text);
      assert.match(answer.json<{ message: string }>().message, message);
    }
    const narrow = `${query}&namespaces=shop&clusters=alpha`;
    assert.deepEqual((await get(`${index}/counts?resource=configmaps&${narrow}`)).json<{ count: number }>().count, 1);
    const offset = (await get(`${native}?${narrow}&limit=4&continue=0`)).json<Listed>();
    assert.deepEqual([offset.items.length, offset.metadata.continue], [1, undefined]);
  });

  test('the count beside a page by such paths is left out, and that is said', async () => {
    const answer = await get(`${native}?${query}&limit=1&withRemainingCount`);
    const { metadata } = answer.json<Listed>();
    assert.ok(metadata.continue);
    assert.equal(metadata.remainingItemCount, undefined);
    assert.match(warningsOf(answer), /remainingItemCount is left out: .*not indexed/);
  });
}
