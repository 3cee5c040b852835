import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import * as fc from 'fast-check';
import { changes, maxAgeMs, names, pods, users, World } from './random/world.fixture.ts';
import { binding, role, rule } from './rights.fixture.ts';

test('after every change of any cluster the rights that are kept are those of a decision from the beginning', async () => {
  const [exitCode] = (await once(new Worker(new URL('./random/kept-rights.fixture.ts', import.meta.url)), 'exit')) as [
    number,
  ];
  assert.equal(exitCode, 0);
});

test('a cluster confirms its RBAC after the clock was set back: the rights end when that confirmation is too old', async () => {
  const world = new World();
  const [jane] = users;
  const reader = [role('r', undefined, rule('list', 'pods')), binding('b', undefined, 'ClusterRole/r', 'User/jane')];
  const incarnation = world.incarnationOf('c');
  world.confirm(incarnation, world.nowMs);
  world.put(incarnation, reader);
  world.nowMs -= maxAgeMs / 2;
  const isShown = async (): Promise<boolean> => (await world.kept.scope(jane!, 'list', [pods])).scope.grants.size === 1;
  assert.ok(await isShown());
  world.confirm(incarnation, world.nowMs);
  world.nowMs += maxAgeMs;
  assert.ok(await isShown());
  world.nowMs += 1;
  assert.ok(!(await isShown()));
});

test('a question after a change in one cluster decides about that cluster only', async () => {
  const world = new World();
  const asked: string[] = [];
  const { authorize } = world.authorizer;
  world.authorizer.authorize = (attributes) => {
    asked.push(attributes.cluster?.name ?? '');
    return authorize(attributes);
  };
  for (const name of names) world.confirm(world.incarnationOf(name), world.nowMs);
  const [jane] = users;
  const first = await world.kept.scope(jane!, 'list', [pods]);
  assert.deepEqual(asked.splice(0), names.slice(1));
  assert.equal(await world.kept.scope(jane!, 'list', [pods]), first);
  assert.deepEqual(asked.splice(0), []);
  const reader = [role('r', undefined, rule('list', 'pods')), binding('b', undefined, 'ClusterRole/r', 'User/jane')];
  world.put(world.incarnationOf('c'), reader);
  const second = await world.kept.scope(jane!, 'list', [pods]);
  assert.deepEqual([...second.scope.grants.keys()], [world.incarnationOf('c').id]);
  assert.deepEqual(asked.splice(0), ['c']);
});

const rbacChange = fc.record({
  what: fc.constantFrom('a role', 'a binding', 'another binding', 'no binding', 'a namespace' as const),
  name: fc.constantFrom(...names),
  one: fc.nat(5),
  two: fc.nat(5),
});

test('what the rights were at an earlier position is read from the log, also by a process that was not there', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(rbacChange, { minLength: 3, maxLength: 20 }), async (steps) => {
      const world = new World();
      world.register('a', 0);
      for (const name of names) world.confirm(world.incarnationOf(name), world.nowMs);
      const seen: { readonly at: string; readonly grants: object }[] = [];
      const [jane] = users;
      for (const { what, name, one, two } of steps) {
        changes()[what]({ world, name, incarnation: world.incarnationOf(name) }, one, two);
        const { scope } = await world.kept.scope(jane!, 'list', [pods]);
        seen.push({ at: world.store.resourceVersion(), grants: scope.grants });
      }
      const other = world.anew();
      const now = await world.kept.scope(jane!, 'list', [pods]);
      for (const { at, grants } of seen) {
        for (const engine of [world.kept, other]) {
          const then = await engine.scopeAt({ user: jane!, verb: 'list', types: [pods], clusters: undefined }, at);
          assert.deepEqual(new Map([...then!.grants].filter(([, types]) => types.size > 0)), grants);
        }
      }
      // The views are again what they were.
      assert.deepEqual(await world.kept.scope(jane!, 'list', [pods]), now);
      assert.deepEqual(await world.anew().scope(jane!, 'list', [pods]), now);
    }),
    { numRuns: 60 },
  );
});
