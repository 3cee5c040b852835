// A small world of clusters, users, rules and RBAC that a random test changes step by step.
import { makeRulesAuthorizer } from '../../auth/rules/authorize.ts';
import { GatewayError } from '../../model/errors.ts';
import type { ClusterRecord } from '../../model/records.ts';
import { makeUser } from '../../model/user.ts';
import type { User } from '../../model/user.ts';
import { makeStoredTypes } from '../../store/stored-types.ts';
import type { Incarnation } from '../../query/types.ts';
import { makeRightsMirror } from '../mirror.ts';
import { makeReviewer } from '../review.ts';
import { allowRule, binding, makeTestStore, role, rule, testRecord, testUser } from '../rights.fixture.ts';
import type { TestObject } from '../rights.fixture.ts';
import { makeRowScopes } from '../row-scopes.ts';
import type { RowScopes, RowScopesOptions } from '../row-scopes.ts';
import { StoredIncarnations } from '../stored-incarnations.ts';

export const names = ['a', 'b', 'c', 'd', 'e', 'f'];
const namespaces = ['team', 'other'];
export const maxAgeMs = 600_000;
export const pods = { group: '', resource: 'pods' };
export const nodes = { group: '', resource: 'nodes' };

export const users: readonly User[] = [
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
export class World {
  readonly store = makeTestStore();
  readonly authorizer = makeRulesAuthorizer({ file: 'rules', rules: [allowRule({})] });
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

/** What can change, by its name: each takes a world, a cluster, and two choices of detail. */
export function changes() {
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
      world.authorizer.replace({ file: 'rules', rules: [allowRule(rules)] });
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

/** Where something changes. */
export interface At {
  readonly world: World;
  readonly name: string;
  readonly incarnation: Incarnation;
}
