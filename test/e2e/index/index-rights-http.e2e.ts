// A gateway with its own sync over real members, and random users who ask the index over HTTP. Lists in pages,
// selections, counts, facets, values, owners, gets without a cluster and discovery must be what brute force makes of
// the rows that the members themselves let each user see. The members' own objects (kube-system) are rows as well; the
// oracle judges every one of them.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { ListedObject } from './index-rights-member.ts';
import { indexPath as base, keysOf, late, pathBelow, startRightsHttpSite, typeName } from './index-rights-http-site.ts';
import type { Caller, RightsHttpSite, Row } from './index-rights-http-site.ts';
import { worldNamespaces, worldTypes } from './index-rights-world.ts';
import type { Pick, WorldObject, WorldType } from './index-rights-world.ts';
import { ask } from '../kubectl/kubectl-as.ts';
import { eventually } from '../../site/polling.ts';
import { clusterRoleBinding, userSubject } from '../../site/rbac.ts';

const userCount = Number(process.env['INDEX_RIGHTS_HTTP_USERS'] ?? 24);
const memberCount = Number(process.env['INDEX_RIGHTS_HTTP_MEMBERS'] ?? 2);
const seed = Number(process.env['INDEX_RIGHTS_SEED'] ?? 11);
const clusterAnnotation = 'shadow.clusterpedia.io/cluster-name';

let site: RightsHttpSite;
let gateway: RightsHttpSite['gateway'];
let members: RightsHttpSite['members'];
let users: RightsHttpSite['users'];
let rows: RightsHttpSite['rows'];
let json: RightsHttpSite['json'];
let eachCaller: RightsHttpSite['eachCaller'];

before(async () => {
  site = await startRightsHttpSite({ users: userCount, members: memberCount, seed });
  ({ gateway, members, users, rows, json, eachCaller } = site);
});

after(async () => {
  await site?.stop();
});

const pathOf = (type: WorldType, namespace = '', name = ''): string =>
  pathBelow(`${base}/proxy`, type, namespace, name);

/** Every page of a list. */
async function listed(
  caller: Caller,
  type: WorldType,
  query: readonly string[],
  limit: number,
): Promise<readonly string[]> {
  const found: string[] = [];
  let token: string | undefined;
  do {
    const more = token === undefined ? [] : [`continue=${encodeURIComponent(token)}`];
    const page = (await json(caller, `${pathOf(type)}?${[...query, `limit=${limit}`, ...more].join('&')}`)) as {
      readonly metadata: { readonly continue?: string };
      readonly items: readonly ListedObject[];
    };
    for (const { metadata } of page.items as readonly (ListedObject & Annotated)[]) {
      found.push(`${metadata.annotations[clusterAnnotation]}/${metadata.namespace ?? ''}/${metadata.name}`);
    }
    token = page.metadata.continue;
  } while (token !== undefined && token !== '');
  return found;
}

interface Annotated {
  readonly metadata: { readonly annotations: Readonly<Record<string, string>> };
}

/** An item of a collection. */
interface Collected extends Annotated {
  readonly kind: string;
  readonly metadata: Annotated['metadata'] & ListedObject['metadata'];
}

interface Selection {
  readonly query: readonly string[];
  readonly takes: (row: Row) => boolean;
}

/** Selections that both sides can make of a row. */
function selections(pick: Pick): readonly Selection[] {
  const namespace = pick(worldNamespaces);
  const name = pick(['a', 'b', 'c']);
  const cluster = pick(members).name;
  return [
    { query: [], takes: () => true },
    {
      query: [`namespaces=${namespace},kube-system`],
      takes: (row) => [namespace, 'kube-system'].includes(row.namespace),
    },
    { query: [`clusters=${cluster}`], takes: (row) => row.cluster === cluster },
    { query: ['labelSelector=tier%3Dweb'], takes: ({ object }) => object.metadata.labels?.['tier'] === 'web' },
    { query: ['labelSelector=!tier'], takes: ({ object }) => object.metadata.labels?.['tier'] === undefined },
    { query: [`fieldSelector=metadata.name%3D${name}`], takes: (row) => row.name === name },
  ];
}

describe('what the index answers over HTTP is made of the rows each user may see, and of nothing else', () => {
  test('lists in pages, under selectors and orders; counts, facets and values', async () => {
    let visible = 0;
    await eachCaller(async (caller) => {
      const { pick } = caller;
      for (const type of worldTypes) {
        const seen = await caller.seen('list', type);
        visible += seen.length;
        const who = `${caller.user.name} ${caller.user.groups.join()} ${type.resource}, seed ${seed}`;
        const { query, takes } = pick(selections(pick));
        const order = pick([[], ['orderby=name'], ['orderby=created_at%20desc'], ['orderby=namespace,name%20desc']]);
        const expected = seen.filter(takes);
        const found = await listed(caller, type, [...query, ...order], pick([1, 3, 7, 500]));
        assert.deepEqual(found.toSorted(), keysOf(expected), `${who} ${query.join('&')}`);

        const asked = [`resource=${typeName(type)}`, ...query].join('&');
        const counts = (await json(caller, `${base}/counts?${asked}`)) as { readonly count: number };
        assert.equal(counts.count, expected.length, `${who} ${asked}`);
        for (const by of ['namespace', 'cluster'] as const) {
          const { facets } = (await json(caller, `${base}/facets?${asked}&by=${by}`)) as {
            readonly facets: readonly { readonly value: string; readonly count: number }[];
          };
          const tally = new Map<string, number>();
          for (const row of expected) if (row[by] !== '') tally.set(row[by], (tally.get(row[by]) ?? 0) + 1);
          const counted = facets.filter(({ value }) => value !== '').map(({ value, count }) => [value, count] as const);
          assert.deepEqual(new Map(counted), tally, `${who} ${asked} by ${by}`);
        }
        const values = (await json(caller, `${base}/values?${asked}&by=namespace&prefix=n`)) as {
          readonly values: readonly string[];
        };
        const there = new Set(expected.map(({ namespace }) => namespace).filter((value) => value.startsWith('n')));
        assert.deepEqual(values.values.toSorted(), [...there].toSorted(), `${who} ${asked} values`);
      }
    });
    const all = users.length * [...rows.values()].reduce((sum, found) => sum + found.length, 0);
    process.stderr.write(`${users.length} users, ${all} rows judged, ${visible} visible\n`);
    assert.ok(visible > all / 100 && visible < (all * 19) / 20, `${visible} of ${all}`);
  });

  test('a get without a cluster answers, is not found or names exactly the clusters from which the caller may get it', async () => {
    const reported = new Map<number, number>();
    await eachCaller(async (caller) => {
      for (const type of worldTypes.filter((each) => each.owned !== true)) {
        const there = rows.get(type)!.filter(({ name }) => ['a', 'b', 'c', ...worldNamespaces].includes(name));
        for (let round = 0; round < 3; round++) {
          const { namespace, name } = caller.pick(there);
          const same = there.filter((row) => row.namespace === namespace && row.name === name);
          const clusters: string[] = [];
          for (const row of same) if (await caller.sees('get', type, row)) clusters.push(row.cluster);
          const { status, body } = await ask(gateway, caller.token, 'GET', pathOf(type, namespace, name));
          const text = body.toString('utf8');
          const what = `${caller.user.name} ${type.resource} ${namespace}/${name}, seed ${seed}: ${text}`;
          assert.equal(status, clusters.length === 0 ? 404 : clusters.length === 1 ? 200 : 409, what);
          reported.set(status, (reported.get(status) ?? 0) + 1);
          if (status === 200) {
            const { annotations } = (JSON.parse(text) as Annotated).metadata;
            assert.equal(annotations[clusterAnnotation], clusters[0], what);
            continue;
          }
          for (const { name: member } of members) {
            assert.equal(text.includes(member), status === 409 && clusters.includes(member), what);
          }
        }
      }
    });
    assert.deepEqual([...reported.keys()].toSorted(), [200, 404, 409], 'the world has every outcome');
  });

  test('owners are followed through objects that the caller may see', async () => {
    const [deployments, replicaSets] = ['deployments', 'replicasets'].map((resource) => {
      return worldTypes.find((type) => type.resource === resource)!;
    });
    let found = 0;
    await eachCaller(async (caller) => {
      const owner = caller.pick(rows.get(deployments!)!);
      const inCluster = ({ cluster, namespace }: Row) => cluster === owner.cluster && namespace === owner.namespace;
      const seesOwner = await caller.sees('list', deployments!, owner);
      const expected = (await caller.seen('list', replicaSets!)).filter(
        (row) => seesOwner && inCluster(row) && row.name.startsWith(`${owner.name}-`),
      );
      const query = [`clusters=${owner.cluster}`, `namespaces=${owner.namespace}`, `ownerName=${owner.name}`];
      const answer = await listed(caller, replicaSets!, [...query, 'ownerGR=deployments.apps'], 500);
      assert.deepEqual(answer, keysOf(expected), `${caller.user.name} ${query.join('&')}, seed ${seed}`);
      found += answer.length;
    });
    assert.ok(found > 0, 'somebody sees what something owns');
  });

  test('a collection of every type, listed, in pages and watched, holds the rows of each type that the user may see', async () => {
    const any = `/apis/clusterpedia.io/v1beta1/collectionresources/any?resources=${worldTypes
      .map(({ group, resource }) => `${group}/${resource}`)
      .join()}`;
    const keyOf = ({ kind, metadata }: Collected): string =>
      `${kind} ${metadata.annotations[clusterAnnotation]}/${metadata.namespace ?? ''}/${metadata.name}`;
    let visible = 0;
    await eachCaller(async (caller) => {
      const expected = async (verb: 'list' | 'watch'): Promise<readonly string[]> => {
        const found: string[] = [];
        for (const type of worldTypes)
          found.push(...keysOf(await caller.seen(verb, type)).map((key) => `${type.kind} ${key}`));
        return found.toSorted();
      };
      const who = `${caller.user.name} ${caller.user.groups.join()}, seed ${seed}`;
      const found: string[] = [];
      for (let token: string | undefined = ''; token !== undefined && found.length < 10_000;) {
        const page = (await json(caller, `${any}&limit=40&continue=${encodeURIComponent(token)}`)) as {
          readonly continue?: string;
          readonly items: readonly Collected[];
        };
        found.push(...page.items.map(keyOf));
        token = page.continue;
      }
      visible += found.length;
      assert.deepEqual(found.toSorted(), await expected('list'), who);
      const { status, body } = await ask(gateway, caller.token, 'GET', `${any}&watch=1&timeoutSeconds=1`);
      assert.equal(status, 200, body.toString('utf8'));
      const events = body
        .toString('utf8')
        .split('\n')
        .filter((line) => line !== '');
      const reported = events.map((line) => keyOf((JSON.parse(line) as { readonly object: Collected }).object));
      assert.deepEqual(reported.toSorted(), await expected('watch'), `watch of ${who}`);
    });
    assert.ok(visible > 0);
  });

  test('numbers of the fleet are of the rows that each user may list, and name no other cluster', async () => {
    const deployments = worldTypes.find(({ resource }) => resource === 'deployments')!;
    let reported = 0;
    await eachCaller(async (caller) => {
      const { status, body } = await ask(gateway, caller.token, 'GET', '/metrics/fleet');
      assert.equal(status, 200);
      const text = body.toString('utf8');
      const line = /^kube_deployment_spec_replicas\{cluster="(.+)",namespace="(.+)",deployment="(.+)"\} 0$/gm;
      const found = [...text.matchAll(line)].map(([, cluster, namespace, name]) => `${cluster}/${namespace}/${name}`);
      const seen = await caller.seen('list', deployments);
      assert.deepEqual(found.toSorted(), keysOf(seen), `${caller.user.name}, seed ${seed}`);
      reported += found.length;
      const samples = text.split('\n').filter((each) => each.startsWith('kube_'));
      for (const { name } of members) {
        const mayKnow = seen.some(({ cluster }) => cluster === name);
        assert.equal(
          samples.some((each) => each.includes(`cluster="${name}"`)),
          mayKnow,
          `${caller.user.name} ${name}`,
        );
      }
    });
    assert.ok(reported > 0);
  });

  test('discovery holds every type of which the caller sees a row, and nothing for who may see nothing', async () => {
    await eachCaller(async (caller) => {
      for (const type of worldTypes) {
        if ((await caller.seen('list', type)).length === 0) continue;
        const { group, version, resource } = type;
        const path = `${base}/proxy${group === '' ? `/api/${version}` : `/apis/${group}/${version}`}`;
        const { resources } = (await json(caller, path)) as {
          readonly resources: readonly { readonly name: string }[];
        };
        assert.ok(
          resources.some(({ name }) => name === resource),
          `${caller.user.name} ${resource}, seed ${seed}`,
        );
      }
    });
  });

  test('a right that is given or taken away in a cluster counts in the index within two seconds', async () => {
    const type = worldTypes[0]!;
    const [member] = members;
    const path = `${pathOf(type)}?clusters=${member!.name}`;
    const seesAll = async (): Promise<boolean> => {
      const { items } = (await json(late, path)) as { readonly items: readonly unknown[] };
      return items.length === rows.get(type)!.filter(({ cluster }) => cluster === member!.name).length;
    };
    const binding: WorldObject = clusterRoleBinding('late', 'cluster-admin', userSubject(late.name));
    const within = { timeoutMs: 2_000 };
    let slowestMs = 0;
    for (let round = 0; round < 5; round++) {
      for (const given of [true, false]) {
        await (given ? member!.make([binding]) : member!.remove([binding]));
        const acknowledgedAt = performance.now();
        await eventually(`the right is ${given ? 'given' : 'gone'}`, async () => (await seesAll()) === given, within);
        slowestMs = Math.max(slowestMs, performance.now() - acknowledgedAt);
      }
    }
    process.stderr.write(`a changed right counted after ${Math.round(slowestMs)} ms at most\n`);
  });
});
