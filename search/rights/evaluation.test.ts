import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { makeRulesAuthorizer } from '../../auth/rules/authorize.ts';
import type { Rule } from '../../auth/rules/rules.ts';
import { GatewayError } from '../../cache/model/errors.ts';
import type { ClusterRecord } from '../../cache/model/records.ts';
import { makeUser } from '../../cache/model/user.ts';
import type { User } from '../../cache/model/user.ts';
import { makeStoredTypes } from '../stores/stored-types.ts';
import type { Incarnation } from '../types.ts';
import { makeRightsMirror } from './mirror.ts';
import type { RowVerb } from './rbac-view.ts';
import { makeReviewer } from './review.ts';
import { binding, makeTestStore, role, rule, testRecord, testUser } from './rights.fixture.ts';
import type { TestObject } from './rights.fixture.ts';
import { makeRowScopes } from './row-scopes.ts';
import type { RowScopes, RowScopesOptions } from './row-scopes.ts';
import { StoredIncarnations } from './stored-incarnations.ts';

const names = ['a', 'b', 'c', 'd', 'e', 'f'];
const namespaces = ['team', 'other'];
const maxAgeMs = 600_000;
const pods = { group: '', resource: 'pods' };
const nodes = { group: '', resource: 'nodes' };

const users: readonly User[] = [
  testUser('jane', 'dev'),
  testUser('joe'),
  testUser('jane'),
  makeUser({ name: 'stranger', groups: [] }),
  makeUser({ name: 'system:serviceaccount:team:robot', groups: ['system:serviceaccounts', 'system:authenticated'] }),
  makeUser({ name: 'root', groups: ['system:masters', 'system:authenticated'] }),
  testUser('person'),
];
const subjects = ['User/jane', 'User/joe', 'Group/dev', 'Group/system:authenticated', 'ServiceAccount/team/robot'];

/** Everything that decides about rights, and a way to change each part of it. */
class World {
  readonly store = makeTestStore();
  readonly authorizer = makeRulesAuthorizer({ file: 'rules', rules: [ruleFor({})] });
  nowMs = 1_000_000_000_000;
  outgoingGeneration = 0;
  refused: string | undefined;
  modes = new Map<string, 'rbac' | 'review'>();
  isReviewAllowed = true;
  #confirmed = new Set<string>();
  #uids = new Map<string, number>();
  #lives = new Map<string, number>();
  #records = new Map<string, ClusterRecord>();
  #list: readonly ClusterRecord[] = [];
  readonly kept: RowScopes;

  constructor() {
    for (const name of names.slice(1)) this.register(name, 0);
    this.kept = this.#engine({ outgoingGeneration: () => this.outgoingGeneration });
  }

  /** Decides about every cluster from the beginning. */
  anew(): RowScopes {
    return this.#engine({});
  }

  register(name: string, uid: number, labels: Readonly<Record<string, string>> = {}): void {
    this.#uids.set(name, uid);
    const made = testRecord(name, labels);
    this.#records.set(name, { ...made, spec: { ...made.spec, uid: `uid-${name}-${uid}` } });
    this.#list = [...this.#records.values()];
  }

  unregister(name: string): void {
    this.#records.delete(name);
    this.#list = [...this.#records.values()];
  }

  confirm(incarnation: Incarnation, confirmedAtMs: number): void {
    this.#confirmed.add(incarnation.id);
    this.store.confirm(incarnation, confirmedAtMs);
  }

  /** Rows come only with types that the store knows of. */
  put(incarnation: Incarnation, objects: readonly TestObject[]): void {
    if (!this.#confirmed.has(incarnation.id)) this.confirm(incarnation, 1);
    this.store.putAll(incarnation, objects);
  }

  setLife(name: string, life: number): void {
    this.#lives.set(name, life);
  }

  incarnationOf(name: string): Incarnation {
    return { id: `uid-${name}-${this.#uids.get(name) ?? 0}/life-${this.#lives.get(name) ?? 0}`, cluster: name };
  }

  #engine(given: Pick<RowScopesOptions, 'outgoingGeneration'>): RowScopes {
    let readMs = 0;
    const mirror = makeRightsMirror(this.store, { defer: () => undefined });
    // Stored types are read anew for each question.
    const now = (): number => (readMs += 2_000);
    return makeRowScopes({
      mirror,
      stored: new StoredIncarnations({ store: this.store, types: makeStoredTypes(this.store), now }),
      clusters: { list: () => this.#list },
      authorizer: this.authorizer,
      outgoing: (user, { name }) => {
        if (name === this.refused) throw new GatewayError('IDENTITY_REFUSED', 'no');
        return user.name === 'person' ? 'self' : user;
      },
      modes: { modeOf: async (_, incarnation) => this.modes.get(incarnation) ?? 'rbac' },
      // An answer counts for no time, so that both engines get the same.
      reviewer: makeReviewer({ reviews: { isAllowed: async () => this.isReviewAllowed }, ttlMs: 0 }),
      confirmations: async (incarnation, types) => {
        const stored = (await this.store.types()).find((each) => each.incarnation.id === incarnation);
        return types.map(() => stored?.position.confirmedAtMs ?? 0);
      },
      maxAgeMs,
      now: () => this.nowMs,
      ...given,
    });
  }
}

function ruleFor(part: Partial<Rule>): Rule {
  return {
    subjects: [{ kind: 'Group', name: 'system:authenticated' }],
    clusters: [],
    clusterSelector: undefined,
    verbs: ['*'],
    apiGroups: ['*'],
    resources: ['*'],
    resourceNames: [],
    namespaces: [],
    nonResourceURLs: [],
    ...part,
  };
}

/** One change somewhere: what, in which cluster, and two choices of detail. */
const change = fc.record({
  what: fc.constantFrom(...(Object.keys(changes()) as (keyof ReturnType<typeof changes>)[])),
  name: fc.constantFrom(...names),
  one: fc.nat(5),
  two: fc.nat(5),
});

function changes() {
  const at = <T>(items: readonly T[], index: number): T => items[index % items.length]!;
  const bindingOf = (one: number, two: number) =>
    binding(`b${two}`, at([undefined, ...namespaces], two), `ClusterRole/${at(['x', 'y'], one)}`, at(subjects, one));
  return {
    'a role': ({ world, incarnation }: At, one: number, two: number) => {
      const rules = at(
        [[rule('list,watch,get', 'pods')], [rule('list', 'nodes')], [rule('list', 'pods', 'p')], []],
        two,
      );
      world.put(incarnation, [role(at(['x', 'y'], one), undefined, ...rules)]);
    },
    'a binding': ({ world, incarnation }: At, one: number, two: number) =>
      world.put(incarnation, [bindingOf(one, two)]),
    'another binding': ({ world, incarnation }: At, one: number, two: number) =>
      world.put(incarnation, [bindingOf(one, two)]),
    'no binding': ({ world, incarnation }: At, one: number, two: number) =>
      world.store.remove(incarnation, bindingOf(one, two)),
    'a namespace': ({ world, incarnation }: At, one: number, two: number) => {
      const namespace = { kind: 'Namespace', metadata: { name: at(namespaces, one) } };
      if (two < 4) world.put(incarnation, [namespace]);
      else world.store.remove(incarnation, namespace);
    },
    'a confirmation': ({ world, incarnation }: At) => world.confirm(incarnation, world.nowMs),
    'a cluster goes': ({ world, name }: At) => world.unregister(name),
    'a cluster comes, perhaps another under the same name': ({ world, name }: At, one: number) =>
      world.register(name, one % 2),
    'a cluster with a label': ({ world, name }: At, one: number) => world.register(name, 0, { tier: `${one}` }),
    'a cluster is made anew': ({ world, name }: At, one: number) => world.setLife(name, one % 2),
    'a cluster is asked, or no longer': ({ world, incarnation }: At, one: number) => {
      world.modes.set(incarnation.id, one % 2 === 0 ? 'review' : 'rbac');
      world.kept.changed(incarnation.id);
    },
    'members answer otherwise': ({ world }: At) => {
      world.isReviewAllowed = !world.isReviewAllowed;
    },
    'rules of the gateway': ({ world, name }: At, one: number) => {
      const rules = at([{}, { clusters: [name] }, { namespaces: ['team'] }, { resources: ['pods'] }], one);
      world.authorizer.replace({ file: 'rules', rules: [ruleFor(rules)] });
    },
    'an identity may not go out': ({ world, name }: At, one: number) => {
      world.refused = one < 3 ? name : undefined;
      world.outgoingGeneration += 1;
    },
    'time passes': ({ world }: At, one: number) => {
      world.nowMs += one * 200_000;
    },
    'the clock is set back': ({ world }: At, one: number) => {
      world.nowMs -= one * 200_000;
    },
    'a binding that the log no longer has': ({ world, incarnation }: At, one: number, two: number) => {
      world.put(incarnation, [bindingOf(one, two)]);
      world.store.trim();
    },
  };
}

interface At {
  readonly world: World;
  readonly name: string;
  readonly incarnation: Incarnation;
}

const questions: readonly (readonly [RowVerb, (typeof pods)[], string[]?])[] = [
  ['list', [pods]],
  ['watch', [pods, nodes]],
  ['get', [pods], ['a', 'c']],
];

test('after every change of any cluster the rights that are kept are those of a decision from the beginning', async () => {
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
