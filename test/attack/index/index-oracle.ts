// Random rights: what the index shows somebody is what each member answers exactly that identity, asked through the
// gateway as anybody is. Easy to get wrong: a member lists one object where only its name is granted, and only when it
// is asked by that name, so the oracle asks for each object.
import assert from 'node:assert/strict';
import type { OutgoingHttpHeaders } from 'node:http';
import { describe, test } from 'node:test';
import { createRandom } from '../../../bench/figures/statistics.ts';
import type { JsonObject } from '../../../sim/model/types.ts';
import type { Answer, IndexedList, IndexedObject } from '../../integration/index/index-site.ts';
import { clusterAnnotation, grant, index, namespaces, plainNames, proxy, resources } from './index-world.ts';
import type { IndexWorld } from './index-world.ts';

const clusters = ['alpha', 'beta'] as const;
const seed = Number(process.env['ATTACK_SEED'] ?? 25);
const users = Number(process.env['ATTACK_USERS'] ?? 3);

/** Roles and bindings of a member, as random as RBAC allows: verbs, `*`, names, groups, namespaces. */
export function randomRights(cluster: number): readonly JsonObject[] {
  const random = createRandom(seed * 7 + cluster);
  const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)]!;
  return Array.from({ length: users }, (_, i) => i).flatMap((i) =>
    [0, 1].flatMap((n) => {
      const names = random() < 0.4 ? { resourceNames: [pick(plainNames), pick(plainNames)] } : {};
      const verbs = pick([['*'], ['list'], ['get'], ['get', 'list'], ['list', 'watch'], ['watch'], ['create']]);
      const rule = {
        apiGroups: [pick(['', '', '*', 'apps'])],
        resources: [pick(['configmaps', '*', 'pods'])],
        verbs,
        ...names,
      };
      const rbacGroup = 'rbac.authorization.k8s.io';
      const subject =
        n === 1 && random() < 0.3
          ? { kind: 'Group', apiGroup: rbacGroup, name: pick(['odd', 'even']) }
          : { kind: 'User', apiGroup: rbacGroup, name: `random-${i}` };
      return grant(`random-${i}-${n}`, subject, [rule], random() < 0.6 ? pick(namespaces) : undefined);
    }),
  );
}

/** Headers of `--as`; the group `team` passes the gateway's own rules. */
function acting(user: string, groups: readonly string[]): OutgoingHttpHeaders {
  return { 'impersonate-user': user, 'impersonate-group': [...groups] };
}

const keyOf = (cluster: string, { metadata }: IndexedObject): string =>
  `${cluster}/${metadata.namespace}/${metadata.name}`;

/** Names of all ConfigMaps of the two namespaces that are in both clusters. */
const places = namespaces.flatMap((place) => plainNames.map((name) => ({ place, name })));
const selector = 'labelSelector=mine%3Dyes%2Capp%20in%20%28one%2Ctwo%2Cthree%29';

/** What a member lets them list, by every way in which it can be asked. */
async function listedByMember(ask: (path: string) => Promise<Answer>, cluster: string): Promise<ReadonlySet<string>> {
  const found = new Set<string>();
  const take = async (path: string): Promise<boolean> => {
    const answer = await ask(`/clusters/${cluster}/proxy${path}`);
    if (answer.status !== 200) return false;
    for (const item of answer.json<IndexedList>().items) found.add(keyOf(cluster, item));
    return true;
  };
  if (await take(`/api/v1/configmaps?${selector}`)) return found;
  for (const name of plainNames) await take(`/api/v1/configmaps?${selector}&fieldSelector=metadata.name%3D${name}`);
  for (const place of namespaces) {
    const base = `/api/v1/namespaces/${place}/configmaps?${selector}`;
    if (await take(base)) continue;
    for (const name of plainNames) await take(`${base}&fieldSelector=metadata.name%3D${name}`);
  }
  return found;
}

/** All that the index says to somebody, against what the members do. */
async function compare(ask: (path: string) => Promise<Answer>, who: string): Promise<number> {
  const listed = new Set<string>();
  for (const cluster of clusters) for (const key of await listedByMember(ask, cluster)) listed.add(key);
  const json = async <T>(path: string): Promise<T> => {
    const answer = await ask(path);
    assert.equal(answer.status, 200, `${who}: ${path}: ${answer.text}`);
    return answer.json<T>();
  };
  const rows: IndexedObject[] = [];
  let next: string | undefined = '';
  while (next !== undefined) {
    const page: IndexedList = await json(
      `${resources}/api/v1/configmaps?${selector}&limit=2&withRemainingCount&continue=${next}`,
    );
    rows.push(...page.items);
    const remaining = listed.size - rows.length;
    assert.equal(page.metadata.remainingItemCount, remaining > 0 ? remaining : page.metadata.remainingItemCount);
    next = page.metadata.continue;
    assert.equal(next !== undefined, remaining > 0, `${who}: a page after the last, or none before it`);
  }
  const keys = rows.map((item) => keyOf(item.metadata.annotations![clusterAnnotation]!, item));
  assert.deepEqual(keys.toSorted(), [...listed].toSorted(), who);

  const { count } = await json<{ count: number }>(`${index}/counts?resource=configmaps&${selector}`);
  assert.equal(count, listed.size, who);
  const tally = (part: number): object => {
    const counts = new Map<string, number>();
    for (const key of listed) counts.set(key.split('/')[part]!, (counts.get(key.split('/')[part]!) ?? 0) + 1);
    return [...counts].map(([value, n]) => ({ value, count: n })).toSorted((a, b) => (a.value < b.value ? -1 : 1));
  };
  for (const [part, by] of ['cluster', 'namespace', 'metadata.labels.app'].entries()) {
    const asked = `resource=configmaps&by=${by}&${selector}`;
    const { facets } = await json<{ facets: { value: string }[] }>(`${index}/facets?${asked}`);
    assert.deepEqual(
      facets.toSorted((a, b) => (a.value < b.value ? -1 : 1)),
      tally(part),
      who,
    );
    const { values } = await json<{ values: string[] }>(`${index}/values?${asked}&prefix=`);
    assert.deepEqual(values, [...new Set([...listed].map((key) => key.split('/')[part]!))].toSorted(), who);
  }

  for (const { place, name } of places) {
    const path = `/api/v1/namespaces/${place}/configmaps/${name}`;
    const there: string[] = [];
    for (const cluster of clusters) {
      const own = (await ask(`/clusters/${cluster}/proxy${path}`)).status === 200;
      if (own) there.push(cluster);
      const copy = await ask(`${proxy}/clusters/${cluster}${path}`);
      assert.equal(copy.status, own ? 200 : 404, `${who}: get ${cluster} ${path}`);
    }
    const any = await ask(`${proxy}${path}`);
    assert.equal(any.status, [404, 200, 409][there.length], `${who}: get ${path}`);
    if (there.length === 2) assert.match(any.text, /alpha, beta/);
    if (there.length === 0) assert.doesNotMatch(any.text, /alpha|beta/);
    if (there.length === 1) {
      assert.equal(any.json<IndexedObject>().metadata.annotations![clusterAnnotation], there[0], who);
    }
  }
  return listed.size;
}

/** The tests of this file. */
export function oracleTests(world: () => IndexWorld): void {
  describe('random rights', () => {
    test(`random RBAC in two members (ATTACK_SEED, ATTACK_USERS): rows, pages, counts, facets, values, gets and ambiguities are what the members answer (ATT-25)`, async () => {
      const sizes = new Set<number>();
      for (let i = 0; i < users; i++) {
        const who = `random-${i} of seed ${seed}`;
        const headers = acting(`random-${i}`, ['team', i % 2 === 0 ? 'even' : 'odd']);
        sizes.add(await compare((path) => world().ask(path, 'boss', { headers }), who));
      }
      // Users who all see the same would prove nothing.
      assert.ok(sizes.size > 1, `seed ${seed} is too dull: ${[...sizes].join()}`);
    });

    test('behind --as it is the rights of whom one acts as that decide; system:masters is what the members make of it (ATT-25)', async () => {
      for (const headers of [acting('bare', []), acting('nobody-else', ['team', 'system:masters'])]) {
        await compare((path) => world().ask(path, 'boss', { headers }), JSON.stringify(headers));
      }
      const masters = acting('nobody-else', ['team', 'system:masters']);
      const all = await world().ask(`${proxy}/api/v1/configmaps?${selector}`, 'boss', { headers: masters });
      assert.equal(all.json<IndexedList>().items.length, 12);
    });

    test('nobody acts as the index itself, or as anything of the gateway, and without the grant nobody acts as anybody (ATT-25)', async () => {
      const path = `${proxy}/api/v1/configmaps`;
      for (const [user, headers] of [
        ['boss', acting('portcullis:index', ['team'])],
        ['boss', acting('portcullis:anything', ['team'])],
        ['boss', acting('bare', ['team', 'portcullis:index'])],
        ['walled', acting('admin', [])],
        ['walled', acting('walled', ['system:masters'])],
        ['bare', acting('bare', ['team'])],
      ] as const) {
        for (const target of [path, `${index}/facets?resource=configmaps&by=cluster`, `${path}?watch=1`]) {
          const answer = await world().ask(target, user, { headers });
          assert.equal(answer.status, 403, `${user} ${JSON.stringify(headers)}: ${answer.text}`);
          assert.doesNotMatch(answer.text, /"items"|"facets"/);
        }
      }
    });
  });
}
