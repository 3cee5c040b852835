// Measures what registered clusters cost users who have no rights in them: requests of a user with rights in 20 of
// 2,000 clusters, and open watches while RBAC changes in other clusters. Requests run through the whole index with a
// store on disk, but not over a network.
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';

import { allowAuthenticated } from '../../auth/rules/authorize.ts';
import { unknownStatus } from '../../model/store.ts';
import type { ClusterRecord } from '../../model/records.ts';
import { makeUser } from '../../model/user.ts';
import type { User } from '../../model/user.ts';
import type { Inbound } from '../../http/inbound.ts';
import { makeOpenStreams } from '../../routing/forward/open-streams.ts';
import type { AnswerDependencies } from '../../search/api/answer-dependencies.ts';
import { makeCatalogReader } from '../../search/catalog/catalog.ts';
import { answerIndexRequest } from '../../search/chain/chain.ts';
import type { IndexPart, IndexRequest } from '../../search/request/request.ts';
import { readContinueKeys } from '../../search/continue-keys.ts';
import { makeStoredTypes } from '../../store/stored-types.ts';
import { makeScopes } from '../../rights/scopes.ts';
import { openSqliteStore, type SqliteStore } from '../../store/sqlite/store.ts';
import type { ClusterState } from '../../sync/member/sync-types.ts';
import type { Incarnation, TypeInfo } from '../../query/types.ts';
import { makeChangeFeed } from '../../search/watch/feed.ts';
import { makeIssuedRights } from '../../search/watch/issued-rights.ts';
import { median } from '../figures/statistics.ts';

const fleet = 2000;
const granted = 20;
const podsEach = 5;
/**
 * The limit: CPU time of a request with all 2,000 clusters registered, divided by the time with only the 20 clusters in
 * which the user has rights.
 */
const mostGrowth = 1.3;
const watches = 500;
const changesPerSecond = 50;
const watchedMs = 20_000;
const mostCores = 0.3;
const mostDelayMs = 50;
const rounds = 15;
const roundMs = 100;

/** An index over simulated clusters that runs in this process, with functions that send requests to it. */
interface Site {
  readonly store: SqliteStore;
  readonly ask: (user: User, asked: IndexPart, query: string) => Promise<number>;
  /**
   * Opens a watch as the user. `bytes` returns how many bytes it has received; `end` ends it, and so does `close`
   * below.
   */
  readonly watch: (user: User) => { readonly bytes: () => number; readonly end: () => void };
  readonly close: () => Promise<void>;
}

/** Runs the benchmark. @returns a line of text for each limit that does not hold */
export async function benchFleet(directory: string, print: (line: string) => void): Promise<readonly string[]> {
  const failures: string[] = [];
  const large = await openSite(join(directory, 'fleet'), fleet);
  try {
    const small = await openSite(join(directory, 'few'), granted);
    try {
      for (const question of questions) {
        const { ms, smallMs, growth } = await compare(large, small, question);
        const text = `${question.what} by a user with rights in ${granted} clusters: CPU ${ms.toFixed(2)} ms with ${fleet} registered, ${smallMs.toFixed(2)} ms with ${granted}: ${growth.toFixed(2)} times (wanted ${mostGrowth})`;
        print(text);
        if (growth > mostGrowth) failures.push(text);
      }
    } finally {
      await small.close();
    }
    const { cores, delayMs, events } = await watchFleet(large);
    const text = `${watches} watches over ${fleet} clusters, ${changesPerSecond} RBAC changes/s: ${cores.toFixed(2)} cores (wanted ${mostCores}), event loop p99.9 ${delayMs.toFixed(0)} ms (wanted ${mostDelayMs}), ${events} watches were sent something`;
    print(text);
    if (cores > mostCores || delayMs > mostDelayMs || events === 0) failures.push(text);
    return failures;
  } finally {
    await large.close();
  }
}

interface FleetQuestion {
  readonly what: string;
  readonly asked: IndexPart;
  readonly query: string;
}

const questions: readonly FleetQuestion[] = [
  { what: 'a page of 50', asked: { part: 'resources', segments: ['api', 'v1', 'pods'] }, query: '?limit=50' },
  { what: 'a count', asked: { part: 'counts' }, query: '?resource=pods.v1.' },
  {
    what: "one cluster's list",
    asked: { part: 'resources', segments: ['clusters', 'c-3', 'api', 'v1', 'pods'] },
    query: '',
  },
];

async function compare(large: Site, small: Site, { asked, query, what }: FleetQuestion) {
  const spent: { readonly large: number[]; readonly small: number[] } = { large: [], small: [] };
  for (let round = 0; round < rounds; round++) {
    for (const [name, site] of [
      ['large', large],
      ['small', small],
    ] as const) {
      const before = process.cpuUsage();
      const untilMs = performance.now() + roundMs;
      let times = 0;
      for (; performance.now() < untilMs; times++) {
        if ((await site.ask(reader, asked, query)) === 0) throw new Error(`${what} was answered with nothing`);
      }
      const { user, system } = process.cpuUsage(before);
      // The first rounds are not counted, because V8 still compiles code in them.
      if (round > 4) spent[name].push((user + system) / 1000 / times);
    }
  }
  const growth = median(spent.large.map((ms, at) => ms / spent.small[at]!));
  return { ms: median(spent.large), smallMs: median(spent.small), growth };
}

async function watchFleet(site: Site): Promise<{ cores: number; delayMs: number; events: number }> {
  const open = Array.from({ length: watches }, (_, index) => site.watch(personOf(index)));
  try {
    for (const untilMs = Date.now() + 120_000; open.some(({ bytes }) => bytes() === 0) && Date.now() < untilMs;)
      await delay(100);
    await delay(1000);
    const sentBefore = open.map(({ bytes }) => bytes());
    const loop = monitorEventLoopDelay({ resolution: 5 });
    loop.enable();
    const before = process.cpuUsage();
    const startedMs = performance.now();
    for (let change = 0; performance.now() - startedMs < watchedMs; change++) {
      // One change in ten gives rights to a user who has an open watch, the others to users without one.
      const person = change % 10 === 0 ? `person-${change % watches}` : `nobody-${change}`;
      await site.store.apply(bindingOf(incarnationOf((change * 37) % fleet), `change-${change % 500}`, person));
      await delay(Math.max(0, startedMs + (change * 1000) / changesPerSecond - performance.now()));
    }
    const { user, system } = process.cpuUsage(before);
    loop.disable();
    const cores = (user + system) / 1000 / (performance.now() - startedMs);
    const events = open.filter(({ bytes }, index) => bytes() > sentBefore[index]!).length;
    return { cores, delayMs: loop.percentile(99.9) / 1e6, events };
  } finally {
    for (const { end } of open) end();
  }
}

const reader = makeUser({ name: 'reader', groups: ['system:authenticated'] });

function personOf(index: number): User {
  return makeUser({ name: `person-${index}`, groups: ['people', 'system:authenticated'] });
}

async function openSite(directory: string, clusters: number): Promise<Site> {
  const store = await openSqliteStore({ directory });
  await load(store, clusters);
  const records = Array.from({ length: clusters }, (_, index) => recordOf(index));
  const states = records.map((record, index): ClusterState => {
    return {
      cluster: record.spec.name,
      uid: record.spec.uid,
      incarnation: incarnationOf(index),
      fault: undefined,
      types: [],
      refused: [],
    };
  });
  const partStates = states.map((state) => ({ ...state, hasTypes: true }));
  const rights = makeScopes({
    store,
    clusters: { list: () => records },
    authorizer: allowAuthenticated(),
    outgoing: (user) => user,
    outgoingGeneration: () => 0,
    maxAgeMs: 3_600_000,
    choice: 'rbac',
    reviews: { isAllowed: () => Promise.reject(new Error('not asked')), isIncomplete: async () => false },
    sampleRate: 0,
  });
  const feed = makeChangeFeed(store);
  const dependencies = {
    store,
    rights,
    feed,
    catalog: makeCatalogReader({
      types: makeStoredTypes(store),
      sync: { state: () => states, version: 0 },
      isChosen: ({ type }) => type.group === '',
    }),
    chosen: [],
    collections: () => [],
    sync: { state: () => states, stateOf: () => partStates, version: 0 },
    settled: () => Promise.resolve(),
    issuedRights: makeIssuedRights(store),
    openStreams: makeOpenStreams(),
    continueKeys: readContinueKeys(directory),
    bookmarkIntervalMs: 60_000,
    rightsPollMs: 8_000,
    aggregatedWatchMs: 50_000,
    statusJson: String,
    version: () => ({}),
    onError: (error: unknown) => {
      throw error;
    },
    now: Date.now,
  } as unknown as AnswerDependencies;
  return {
    store,
    ask: async (user, asked, query) => {
      const exchange = makeExchange();
      await answerIndexRequest(requestOf(user, asked, query, exchange.inbound), dependencies);
      return exchange.bytes();
    },
    watch: (user) => {
      const exchange = makeExchange();
      const asked = { part: 'resources', segments: ['api', 'v1', 'pods'] } as const;
      const request = requestOf(user, asked, '?watch=1&allowWatchBookmarks=true', exchange.inbound);
      answerIndexRequest(request, dependencies).catch((error: unknown) => process.stderr.write(`${String(error)}\n`));
      return exchange;
    },
    close: async () => {
      rights.close();
      feed.close();
      await store.close();
    },
  };
}

function requestOf(user: User, asked: IndexPart, query: string, inbound: Inbound): IndexRequest {
  const progress = { status: 0, bytesOut: 0 };
  const parts = { asked, inbound, headers: [], query, user, auditId: 'bench', progress, outcome: { error: undefined } };
  const form = (): object => ({ as: '', version: '' });
  return {
    ...parts,
    aggregated: false,
    form,
    live: () => Promise.reject(new Error('not asked')),
  } as unknown as IndexRequest;
}

/** Makes a stand-in for a client connection, which accepts all bytes at once and counts them. */
function makeExchange() {
  let bytes = 0;
  let closed = false;
  const closing: ((aborted: boolean) => void)[] = [];
  const over = (aborted: boolean): void => {
    closed = true;
    for (const listener of closing.splice(0)) listener(aborted);
  };
  const inbound = {
    method: 'GET',
    get closed() {
      return closed;
    },
    respond: () => undefined,
    write: (chunk: Buffer) => {
      bytes += chunk.length;
      return true;
    },
    end: () => over(false),
    abort: () => over(true),
    onDrain: () => undefined,
    onClose: (listener: (aborted: boolean) => void) => void closing.push(listener),
  } as unknown as Inbound;
  return { inbound, bytes: () => bytes, end: () => over(true) };
}

function incarnationOf(index: number): Incarnation {
  return { id: `record-${index}/system-${index}`, cluster: `c-${index}` };
}

function recordOf(index: number): ClusterRecord {
  const name = `c-${index}`;
  const spec = { name, originalName: name, uid: `record-${index}`, labels: {} };
  return { spec, status: unknownStatus, createdAt: '', resourceVersion: '1' } as unknown as ClusterRecord;
}

const rbac = 'rbac.authorization.k8s.io';

function typeOf(group: string, resource: string, kind: string, namespaced: boolean): TypeInfo {
  const names = { singular: kind.toLowerCase(), shortNames: [], categories: [] };
  return { group, resource, kind, version: 'v1', versions: ['v1'], convertible: false, namespaced, ...names };
}

async function load(store: SqliteStore, clusters: number): Promise<void> {
  for (let index = 0; index < clusters; index++) {
    const incarnation = incarnationOf(index);
    const reads = { verbs: ['get', 'list', 'watch'], apiGroups: [''], resources: ['pods'] };
    // In each cluster, RoleBindings name five of the users that have open watches. In the first `granted` clusters they
    // also name `reader`, the user who sends the measured requests.
    const people = Array.from({ length: 5 }, (_, nth) => `person-${(index * 5 + nth) % watches}`);
    const bound = index < granted ? ['reader', ...people] : people;
    await Promise.all([
      store.apply(batchOf(incarnation, typeOf('', 'namespaces', 'Namespace', false), [['', 'team', {}]])),
      store.apply(
        batchOf(incarnation, typeOf(rbac, 'clusterroles', 'ClusterRole', false), [['', 'view', { rules: [reads] }]]),
      ),
      store.apply(batchOf(incarnation, typeOf(rbac, 'clusterrolebindings', 'ClusterRoleBinding', false), [])),
      store.apply(batchOf(incarnation, typeOf(rbac, 'roles', 'Role', true), [])),
      store.apply(
        batchOf(
          incarnation,
          bindingType,
          bound.map((name) => ['team', `view-${name}`, bindingFor(name)] as const),
        ),
      ),
      store.apply(
        batchOf(
          incarnation,
          typeOf('', 'pods', 'Pod', true),
          Array.from({ length: podsEach }, (_, nth) => ['team', `pod-${nth}`, {}] as const),
        ),
      ),
    ]);
  }
}

const bindingType = typeOf(rbac, 'rolebindings', 'RoleBinding', true);

function bindingFor(user: string): object {
  const roleRef = { apiGroup: rbac, kind: 'ClusterRole', name: 'view' };
  return { roleRef, subjects: [{ apiGroup: rbac, kind: 'User', name: user }] };
}

function bindingOf(incarnation: Incarnation, name: string, user: string) {
  return batchOf(incarnation, bindingType, [['team', name, bindingFor(user)]]);
}

function batchOf(
  incarnation: Incarnation,
  type: TypeInfo,
  objects: readonly (readonly [namespace: string, name: string, rest: object])[],
) {
  const apiVersion = type.group === '' ? type.version : `${type.group}/${type.version}`;
  return {
    incarnation,
    type,
    deletes: [],
    position: { resourceVersion: '1', confirmedAtMs: Date.now() },
    upserts: objects.map(([namespace, name, rest]) => {
      const uid = `${incarnation.id}/${type.resource}/${namespace}/${name}`;
      const object = { apiVersion, kind: type.kind, metadata: { name, namespace, uid, resourceVersion: '1' }, ...rest };
      const kept = { namespace, name, uid, resourceVersion: '1', ownerUid: '', createdAtMs: 1_700_000_000_000 };
      return { ...kept, labels: [], terms: [], raw: Buffer.from(JSON.stringify(object)) };
    }),
  };
}
