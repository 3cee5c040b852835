// Fifty random users ask the paths of Karmada's search. Lists, pages, names, gets, watches and writes must be what the
// members themselves say of each user; Karmada's own search asks no member.
// Landing tier: Karmada's paths with each member's RBAC.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ask } from '../kubectl/kubectl-as.ts';
import { keysOf, pathBelow, startRightsHttpSite } from '../index/index-rights-http-site.ts';
import type { Caller, RightsHttpSite, Row } from '../index/index-rights-http-site.ts';
import { worldNamespaces, worldTypes } from '../index/index-rights-world.ts';
import type { WorldType } from '../index/index-rights-world.ts';
import { cache, proxying } from './karmada-paths.ts';

const users = Number(process.env['KARMADA_RIGHTS_USERS'] ?? 50);
const seed = Number(process.env['INDEX_RIGHTS_SEED'] ?? 17);
const cached = 'resource.karmada.io/cached-from-cluster';
const named = ['a', 'b', 'c', ...worldNamespaces];
let site: RightsHttpSite;

before(async () => {
  site = await startRightsHttpSite({ users, members: 2, seed });
});

after(async () => {
  await site?.stop();
});

interface Item {
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly annotations: Readonly<Record<string, string>>;
  };
}

const keyOf = ({ metadata: { annotations, namespace = '', name } }: Item): string =>
  `${annotations[cached]}/${namespace}/${name}`;

const about = ({ user }: Caller, { resource }: WorldType): string =>
  `${user.name} ${user.groups.join()} ${resource}, seed ${seed}`;

/** The objects of several clusters that have the name of one that is drawn. */
function sameNamed({ pick }: Caller, type: WorldType): readonly Row[] {
  const there = site.rows.get(type)!.filter(({ name }) => named.includes(name));
  const { namespace, name } = pick(there);
  return there.filter((row) => row.namespace === namespace && row.name === name);
}

async function gettable(caller: Caller, type: WorldType, same: readonly Row[]): Promise<readonly Row[]> {
  const found: Row[] = [];
  for (const row of same) if (await caller.sees('get', type, row)) found.push(row);
  return found;
}

/** The events of a watch that ends by itself, up to the last object that is there. */
async function watched(caller: Caller, path: string): Promise<readonly string[]> {
  const { status, body } = await ask(site.gateway, caller.token, 'GET', `${path}?watch=true&timeoutSeconds=1`);
  const text = body.toString('utf8');
  assert.equal(status, 200, text);
  const events = text.split('\n').filter((line) => line !== '');
  return events.map((line) => keyOf((JSON.parse(line) as { readonly object: Item }).object)).toSorted();
}

test('lists, pages, lists of a name and watches hold the rows that the members show to each of 50 users, and no other', async () => {
  let visible = 0;
  await site.eachCaller(async (caller) => {
    for (const type of worldTypes) {
      const seen = await caller.seen('list', type);
      visible += seen.length;
      const found: string[] = [];
      for (let token: string | undefined = ''; token !== undefined;) {
        const query = `limit=${caller.pick([2, 5, 500])}&continue=${encodeURIComponent(token)}`;
        const page = (await site.json(caller, `${pathBelow(proxying, type)}?${query}`)) as {
          readonly metadata: { readonly continue?: string };
          readonly items: readonly Item[];
        };
        found.push(...page.items.map(keyOf));
        token = page.metadata.continue;
      }
      assert.deepEqual(found.toSorted(), keysOf(seen), about(caller, type));
      const { namespace, name } = caller.pick(site.rows.get(type)!);
      const list = (await site.json(caller, pathBelow(cache, type, namespace, name))) as {
        readonly items: readonly Item[];
      };
      const expected = seen.filter((row) => row.namespace === namespace && row.name === name);
      assert.deepEqual(list.items.map(keyOf).toSorted(), keysOf(expected), about(caller, type));
    }
    const type = caller.pick(worldTypes);
    const path = pathBelow(proxying, type);
    assert.deepEqual(await watched(caller, path), keysOf(await caller.seen('watch', type)), about(caller, type));
  });
  const all = site.users.length * [...site.rows.values()].reduce((sum, found) => sum + found.length, 0);
  process.stderr.write(`${site.users.length} users, ${all} rows judged, ${visible} visible\n`);
  assert.ok(visible > all / 100 && visible < (all * 19) / 20, `${visible} of ${all}`);
});

test('a get, and a write, finds the one cluster from which the user may get the object, and the member decides of the write', async () => {
  const reported = new Map<string, number>();
  await site.eachCaller(async (caller) => {
    for (const type of worldTypes.filter((each) => each.owned !== true)) {
      const same = sameNamed(caller, type);
      const own = await gettable(caller, type, same);
      const path = pathBelow(proxying, type, same[0]!.namespace, same[0]!.name);
      const expected = own.length === 0 ? 404 : own.length === 1 ? 200 : 409;
      const got = await ask(site.gateway, caller.token, 'GET', path);
      assert.equal(got.status, expected, `${about(caller, type)}: ${got.body.toString('utf8')}`);
      if (got.status === 200) assert.equal(keyOf(JSON.parse(got.body.toString('utf8')) as Item), keysOf(own)[0]);

      const labels = '{"metadata":{"labels":{"tried":"yes"}}}';
      const merge = { 'content-type': 'application/merge-patch+json' };
      const wrote = await ask(site.gateway, caller.token, 'PATCH', `${path}?dryRun=All`, labels, merge);
      const text = wrote.body.toString('utf8');
      const allowed = own.length === 1 ? ((await caller.may('patch', type, own[0]!)) ? 200 : 403) : expected;
      assert.equal(wrote.status, allowed, `${about(caller, type)}: ${text}`);
      for (const { name } of site.members) {
        const mayKnow = own.some(({ cluster }) => cluster === name);
        assert.ok(mayKnow || !text.includes(`"${name}"`), `${about(caller, type)}: ${text}`);
      }
      reported.set(`${expected} ${wrote.status}`, (reported.get(`${expected} ${wrote.status}`) ?? 0) + 1);
    }
  });
  process.stderr.write(`gets and writes: ${[...reported].map(([what, count]) => `${what}: ${count}`).join(', ')}\n`);
  assert.deepEqual([...reported.keys()].toSorted(), ['200 200', '200 403', '404 404', '409 409'], 'every outcome');
});

/** A selection that both sides can make of a row. */
interface Selection {
  readonly query: string;
  readonly takes: (row: Row) => boolean;
}

function selections({ pick }: Caller, type: WorldType): readonly Selection[] {
  const { namespace, name, cluster } = pick(site.rows.get(type)!);
  const label = ({ object }: Row): string | undefined => object.metadata.labels?.['tier'];
  return [
    { query: `fieldSelector=metadata.name%3D${name}`, takes: (row) => row.name === name },
    { query: `fieldSelector=metadata.name!%3D${name}`, takes: (row) => row.name !== name },
    {
      query: `fieldSelector=metadata.name%3D${name}${namespace && `,metadata.namespace%3D${namespace}`}`,
      takes: (row) => row.name === name && row.namespace === namespace,
    },
    { query: 'labelSelector=tier%3Dweb', takes: (row) => label(row) === 'web' },
    { query: 'labelSelector=tier!%3Dweb', takes: (row) => label(row) !== 'web' },
    { query: `clusters=${cluster}&names=${name}`, takes: (row) => row.cluster === cluster && row.name === name },
    { query: `nameContains=${name.slice(0, 1)}`, takes: (row) => row.name.includes(name.slice(0, 1)) },
  ];
}

test('selectors, counts of what remains and every parameter hold to the rows that the members show', async () => {
  let compared = 0;
  await site.eachCaller(async (caller) => {
    for (const type of worldTypes) {
      const seen = await caller.seen('list', type);
      for (const { query, takes } of selections(caller, type)) {
        const expected = seen.filter(takes);
        const path = pathBelow(caller.pick([cache, proxying]), type);
        const what = `${about(caller, type)}: ${path}?${query}`;
        const whole = (await site.json(caller, `${path}?${query}`)) as { readonly items: readonly Item[] };
        assert.deepEqual(whole.items.map(keyOf).toSorted(), keysOf(expected), what);
        const page = (await site.json(caller, `${path}?${query}&limit=1&withRemainingCount`)) as {
          readonly metadata: { readonly remainingItemCount?: number };
          readonly items: readonly Item[];
        };
        const { remainingItemCount = 0 } = page.metadata;
        assert.equal(page.items.length + remainingItemCount, expected.length, what);
        compared += 1;
      }
    }
  });
  process.stderr.write(`${compared} selections compared\n`);
});

test('an object that the user may get from no cluster is answered, and cannot be written, like one that no cluster has', async () => {
  let hidden = 0;
  await site.eachCaller(async (caller) => {
    for (const type of worldTypes.filter((each) => each.owned !== true)) {
      const same = sameNamed(caller, type);
      if ((await gettable(caller, type, same)).length > 0) continue;
      hidden += 1;
      const { namespace, name } = same[0]!;
      const missing = 'z'.repeat(name.length);
      const merge = { 'content-type': 'application/merge-patch+json' };
      for (const [method, body, headers] of [['GET'], ['PATCH', '{}', merge], ['DELETE'], ['PUT', '{}']] as const) {
        const reported = async (asked: string): Promise<string> => {
          const path = `${pathBelow(proxying, type, namespace, asked)}?dryRun=All`;
          const answer = await ask(site.gateway, caller.token, method, path, body, headers);
          const { 'audit-id': _id, date: _date, ...rest } = answer.headers;
          const text = answer.body.toString('utf8').replaceAll(`\\"${asked}\\"`, 'N').replaceAll(`"${asked}"`, 'N');
          return JSON.stringify([answer.status, rest, text]);
        };
        assert.equal(
          await reported(name),
          await reported(missing),
          `${about(caller, type)} ${method} ${namespace}/${name}`,
        );
      }
    }
  });
  process.stderr.write(`${hidden} hidden objects\n`);
  assert.ok(hidden > 0);
});
