// Fifty random users ask the paths of Karmada's search. Lists, pages, names, gets, watches and writes must be what the
// members themselves say of each user; Karmada's own search asks no member.
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
  const told = new Map<string, number>();
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
      told.set(`${expected} ${wrote.status}`, (told.get(`${expected} ${wrote.status}`) ?? 0) + 1);
    }
  });
  process.stderr.write(`gets and writes: ${[...told].map(([what, count]) => `${what}: ${count}`).join(', ')}\n`);
  assert.deepEqual([...told.keys()].toSorted(), ['200 200', '200 403', '404 404', '409 409'], 'every outcome');
});
