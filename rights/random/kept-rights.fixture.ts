// Runs in a thread of its own: node:test follows every promise of the thread that it runs in, which makes these several
// hundred thousand take six times as long. A difference is an error of the thread.
import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import type { RowVerb } from '../rbac/rbac-view.ts';
import { role, rule } from '../rights.fixture.ts';
import { changes, names, nodes, pods, users, World } from './world.fixture.ts';

/** One change somewhere: what, in which cluster, and two choices of detail. */
const change = fc.record({
  what: fc.constantFrom(...(Object.keys(changes()) as (keyof ReturnType<typeof changes>)[])),
  name: fc.constantFrom(...names),
  one: fc.nat(5),
  two: fc.nat(5),
});

const questions: readonly (readonly [RowVerb, (typeof pods)[], string[]?])[] = [
  ['list', [pods]],
  ['watch', [pods, nodes]],
  ['get', [pods], ['a', 'c']],
];

await fc.assert(
  fc.asyncProperty(fc.array(change, { minLength: 5, maxLength: 40 }), async (steps) => {
    const world = new World();
    for (const [index, name] of names.entries()) {
      if (index !== 2) world.confirm(world.incarnationOf(name), world.nowMs);
      world.put(world.incarnationOf(name), [
        role('x', undefined, rule('list,watch,get', 'pods')),
        role('y', undefined, rule('list,watch', 'nodes')),
      ]);
    }
    for (const { what, name, one, two } of steps) {
      changes()[what]({ world, name, incarnation: world.incarnationOf(name) }, one, two);
      const anew = world.anew();
      for (const user of users) {
        for (const [verb, types, clusters] of questions) {
          const kept = await world.kept.scope(user, verb, types, clusters);
          assert.deepEqual(kept, await anew.scope(user, verb, types, clusters), `${what}: ${user.name} ${verb}`);
        }
      }
    }
  }),
  { numRuns: 40 },
);
