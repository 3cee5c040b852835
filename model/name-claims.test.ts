import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { isLabel, isSubdomain } from '../lib/objects/api-names.ts';
import { clusterNames } from './cluster-names.ts';
import type { ClusterSpec, CredentialSource } from './records.ts';
import { createClusterStore, type ClusterStore } from './store.ts';

/** How many random sets of clusters the last test tries; `PORTCULLIS_TEST_NAME_SETS=100000` for a long run. */
const randomSets = Number(process.env['PORTCULLIS_TEST_NAME_SETS'] ?? 250);

const credential: CredentialSource = {
  kind: 'none',
  current: () => ({ authorization: undefined, clientCertificate: undefined, expiresAtMs: undefined }),
  invalidate() {},
};

/** A cluster of a source. `age` is its year of registration on the hub; without it a context of a kubeconfig. */
interface Given {
  readonly original: string;
  readonly age?: number | undefined;
  readonly uid?: string;
}

function specOf({ original, age, uid = original }: Given): ClusterSpec {
  return {
    ...clusterNames(original, age === undefined ? isLabel : isSubdomain),
    originalName: original,
    uid,
    source: age === undefined ? 'kubeconfig' : 'hub',
    sourceDetail: `the one of ${uid}`,
    labels: {},
    ...(age === undefined ? {} : { registeredAt: `20${String(age).padStart(2, '0')}-01-01T00:00:00Z` }),
    endpoint: { scheme: 'https', host: 'example.com', port: 6443, basePath: '' },
    tls: { ca: undefined, serverName: undefined, insecure: false },
    proxy: undefined,
    credential,
    transportKey: uid,
    problem: undefined,
  };
}

/** Who is reached by each name: `name uid`, sorted. Clusters that are listed as conflicts are left out. */
function reached(store: ClusterStore): readonly string[] {
  return store
    .list()
    .filter(({ spec }) => spec.problem === undefined)
    .map(({ spec }) => `${spec.name} ${spec.uid}`);
}

function started(...sources: readonly (readonly Given[])[]): ClusterStore {
  const store = createClusterStore();
  sources.forEach((_, index) => store.apply(String(index), []));
  store.applyFirst(new Map(sources.map((given, index) => [String(index), given.map(specOf)])));
  return store;
}

const arn = (name: string): string => `arn:aws:eks:ap-southeast-2:123456789012:cluster/platform-production-${name}`;
const digestNameOf = (original: string): string => clusterNames(original, isLabel).digestName!;

test('a younger object of an earlier source does not take the name of a working cluster, not even at a restart (ATT-60)', () => {
  for (const [older, younger] of [
    ['prod', 'prod'],
    ['gke_acme_main', 'gke-acme-main'],
    ['gke_acme_main', 'gke-acme_main'],
    ['Prod', 'prod'],
    ['PROD', 'prod!'],
    [arn('blue'), arn('green')],
  ] as const) {
    const holder = { original: older, age: 1, uid: 'holder' };
    const attacker = { original: younger, age: 2, uid: 'attacker' };
    const store = started([], [holder]);
    const [name] = reached(store)[0]!.split(' ');
    store.apply('0', [specOf(attacker)]);
    assert.equal(store.get(name!)?.spec.uid, 'holder', `${younger} against ${older}`);
    const restarted = started([attacker], [holder]);
    assert.deepEqual(reached(restarted), reached(store));
    const refused = store.list().find(({ spec }) => spec.uid === 'attacker')!.spec;
    if (younger === name) {
      assert.equal(refused.credential, undefined);
      assert.equal(refused.problem?.reason, 'NameConflict');
      assert.match(refused.problem.message, /already belongs to the one of holder/);
      if (older !== name) assert.ok(refused.problem.message.includes(`("${older}")`), refused.problem.message);
    } else assert.equal(refused.name, digestNameOf(younger));
  }
});

test('a name is free again only when its holder is gone or asks for another name', () => {
  const holder = { original: 'prod', age: 2, uid: 'holder' };
  const waiting = { original: 'prod', age: 3, uid: 'waiting' };
  const store = started([holder, waiting]);
  store.apply('0', [waiting, { ...holder, age: undefined }].map(specOf));
  assert.equal(store.get('prod')?.spec.uid, 'holder', 'whatever changes of it but its name');
  store.apply('0', [waiting, { ...holder, original: 'other' }].map(specOf));
  assert.deepEqual(reached(store), ['other holder', 'prod waiting']);
  store.apply('0', [waiting, { ...holder, age: 1 }].map(specOf));
  assert.equal(store.get('prod')?.spec.uid, 'waiting', 'who gave the name up is a newcomer');
  store.apply('0', [specOf({ ...holder, uid: 'created anew' })]);
  assert.deepEqual(reached(store), ['prod created anew']);
});

test('a name that was changed gives way to one that was written so, and is kept by nobody when both are equally old', () => {
  const cases: readonly (readonly [given: readonly string[], names: readonly string[]])[] = [
    [['gke_acme_main'], ['gke-acme-main gke_acme_main']],
    [[arn('green')], [`arn-aws-eks-ap-southeast-2-123456789012-cluster-platform-produc ${arn('green')}`]],
    [['生产'], [`${digestNameOf('生产')} 生产`]],
    [
      ['生产', '测试'],
      [`${digestNameOf('生产')} 生产`, `${digestNameOf('测试')} 测试`],
    ],
    [
      [arn('green'), arn('blue')],
      [`${digestNameOf(arn('green'))} ${arn('green')}`, `${digestNameOf(arn('blue'))} ${arn('blue')}`],
    ],
    [
      ['gke_a_b', 'gke-a-b'],
      ['gke-a-b gke-a-b', `${digestNameOf('gke_a_b')} gke_a_b`],
    ],
    [
      ['gke_a_b', 'gke_a-b', 'gke-a-b'],
      ['gke-a-b gke-a-b', `${digestNameOf('gke_a_b')} gke_a_b`, `${digestNameOf('gke_a-b')} gke_a-b`],
    ],
    [
      ['Prod', 'PROD'],
      [`${digestNameOf('Prod')} Prod`, `${digestNameOf('PROD')} PROD`],
    ],
  ];
  for (const age of [undefined, 1]) {
    for (const [given, names] of cases) {
      const clusters = given.map((original) => ({ original, age }));
      assert.deepEqual(reached(started(clusters)), names.toSorted());
      assert.deepEqual(reached(started(clusters.toReversed())), names.toSorted());
    }
  }
});

test('of equal registrations the earlier source has the name, and a kubeconfig comes before every object', () => {
  const first = { original: 'prod', age: 1, uid: 'first' };
  const second = { original: 'prod', age: 1, uid: 'second' };
  const context = { original: 'prod', uid: 'context' };
  assert.deepEqual(reached(started([first], [second])), ['prod first']);
  assert.deepEqual(reached(started([second], [first])), ['prod second']);
  assert.deepEqual(reached(started([first], [second], [context])), ['prod context']);
});

test('a source that is read late gets the names of its older clusters, of one that was read it does not', () => {
  const young = { original: 'prod', age: 2, uid: 'young' };
  const old = { original: 'prod', age: 1, uid: 'old' };
  const store = started([young], []);
  store.apply('1', [specOf(old)]);
  assert.deepEqual(reached(store), ['prod young']);
  const late = started([young]);
  late.applyFirst(new Map([['1', [specOf(old)]]]));
  assert.deepEqual(reached(late), ['prod old']);
  late.applyFirst(new Map([['1', [specOf(old), specOf({ ...old, age: 0, uid: 'renamed', original: 'b' })]]]));
  late.applyFirst(new Map([['1', [specOf(old), specOf({ ...old, age: 0, uid: 'renamed' })]]]));
  assert.deepEqual(reached(late), ['prod old'], 'who was there under another name is a newcomer');
});

test('the second name of a cluster is its own even while it has the first', () => {
  const cluster = { original: 'gke_acme_main', age: 1 };
  const squatter = { original: digestNameOf('gke_acme_main'), age: 2, uid: 'squatter' };
  const store = started([squatter, cluster]);
  assert.deepEqual(reached(store), ['gke-acme-main gke_acme_main']);
  assert.match(
    store.list()[1]?.spec.problem?.message ?? '',
    /already belongs to the one of gke_acme_main \("gke_acme_main"\)/,
  );
});

test('a name in a message is on one line and has an end', () => {
  const original = `P\u001b[31m\nrod${'!'.repeat(5_000)}`;
  const store = started([
    { original, age: 1 },
    { original: 'p-31m-rod', age: 2, uid: 'x' },
  ]);
  const message = store.list().find(({ spec }) => spec.uid === 'x')?.spec.problem?.message ?? '';
  assert.match(message, /\("P \[31m rod!{100}/);
  assert.ok(message.length < 8_000);
  assert.doesNotMatch(message.replace(original, ''), /[\u0000-\u001f]/);
});

interface Drawn extends Given {
  readonly uid: string;
  readonly source: number;
}

const writtenNames = [
  'gke_a_b',
  'gke-a-b',
  'gke-a_b',
  'GKE_A_B',
  'a.b',
  'a-b',
  '生产',
  '测试',
  'прод',
  '-',
  arn('a'),
  arn('b'),
];
const anyName = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...writtenNames, ...writtenNames.map((name) => digestNameOf(`${name}_`))) },
  { weight: 3, arbitrary: fc.constantFrom(...writtenNames.map((name) => `${name}_`), 'x'.repeat(63), 'x'.repeat(64)) },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', minLength: 1, maxLength: 90 }) },
);
/** Source 0 is a kubeconfig, whose contexts have no age. */
const anyClusters = fc
  .uniqueArray(fc.record({ original: anyName, age: fc.nat(2), source: fc.nat(2) }), {
    maxLength: 10,
    selector: ({ original, age, source }) => `${source} ${source === 0 ? '' : age} ${original}`,
  })
  .map((drawn) =>
    drawn.map(({ original, age, source }, index): Drawn => {
      return { original, source, uid: `u${index}`, age: source === 0 ? undefined : age };
    }),
  );
/** Which clusters there are in a step, as bits, and the order in which they are listed. */
const anyStep = fc.record({ living: fc.nat(1023), order: fc.infiniteStream(fc.nat(1_000)) });

function readingsOf(clusters: readonly Drawn[]): Map<string, ClusterSpec[]> {
  return new Map(
    [0, 1, 2].map((index) => [String(index), clusters.filter(({ source }) => source === index).map(specOf)]),
  );
}

function shuffled(clusters: readonly Drawn[], order: Iterator<number>): readonly Drawn[] {
  const keyed = clusters.map((cluster) => ({ cluster, key: order.next().value as number }));
  return keyed.sort((a, b) => a.key - b.key).map(({ cluster }) => cluster);
}

/** The names that clusters can be reached by, by uid. */
function namesOf(store: ClusterStore): Map<string, string> {
  return new Map(
    reached(store)
      .map((line) => line.split(' ') as [string, string])
      .map(([name, uid]) => [uid, name]),
  );
}

/** Checks that every cluster is listed once, and usable unless another one has the very name that it asks for. */
function checkNames(store: ClusterStore, clusters: readonly Drawn[]): void {
  const specs = new Map(store.list().map(({ spec }) => [spec.uid, spec]));
  assert.equal(store.list().length, clusters.length);
  assert.equal(new Set(store.list().map(({ spec }) => spec.name)).size, clusters.length, 'names are unique');
  for (const given of clusters) {
    const { name, digestName } = specOf(given);
    const spec = specs.get(given.uid)!;
    assert.match(spec.name, /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/);
    if (spec.problem === undefined) assert.ok([name, digestName].includes(spec.name), 'the name is one of its own');
    else assert.equal(spec.credential, undefined);
    if (spec.problem === undefined || digestName === undefined) continue;
    const isNamedSo = ({ uid, original }: Drawn): boolean =>
      uid !== given.uid && (original === digestName || original === given.original);
    assert.ok(clusters.some(isNamedSo), 'a changed name is refused only where another cluster is written so');
  }
}

/**
 * Checks that a name as it was written is refused only because of an older cluster or an equally old one, which is
 * written so, too, when all were read at once.
 */
function checkPrecedence(store: ClusterStore, clusters: readonly Drawn[], isAtOnce: boolean): void {
  const ages = new Map(clusters.map(({ uid, age }) => [uid, age ?? -1]));
  for (const { uid, original } of clusters) {
    const { spec } = store.getByUid(uid)!;
    if (spec.problem === undefined || spec.digestName !== undefined || original.trim() === '') continue;
    const usable = store.list().filter((one) => one.spec.problem === undefined);
    const named = usable.find((one) => one.spec.name === original);
    const owner = (named ?? usable.find((one) => one.spec.digestName === original))!.spec;
    const [ofOwner, own] = [ages.get(owner.uid)!, ages.get(uid)!];
    assert.ok(
      ofOwner < own || (ofOwner === own && (!isAtOnce || owner.originalName === original)),
      `${original} of ${own}`,
    );
  }
}

test('whatever clusters come and go in whatever order: names are unique, kept, and no younger one takes them (ATT-60)', (t) => {
  let sets = 0;
  const steps = fc.array(anyStep, { minLength: 2, maxLength: 5 });
  fc.assert(
    fc.property(anyClusters, steps, (clusters, [first, second, ...more]) => {
      sets += 1;
      const livingIn = ({ living }: { readonly living: number }): readonly Drawn[] =>
        clusters.filter((_, index) => ((living >> index) & 1) === 1);
      const alive = livingIn(first!);
      const store = createClusterStore();
      const other = createClusterStore();
      store.applyFirst(readingsOf(shuffled(alive, first!.order)));
      other.applyFirst(readingsOf(shuffled(alive, second!.order)));
      assert.deepEqual(namesOf(other), namesOf(store), 'names do not follow the order of listing');
      checkNames(store, alive);
      checkPrecedence(store, alive, true);
      const late = createClusterStore();
      for (const reading of readingsOf(shuffled(alive, second!.order))) late.applyFirst(new Map([reading]));
      checkNames(late, alive);
      checkPrecedence(late, alive, false);

      for (const step of more) {
        for (const [source, specs] of readingsOf(shuffled(livingIn(step), step.order))) {
          const before = namesOf(store);
          store.apply(source, specs);
          for (const [uid, name] of namesOf(store)) assert.equal(name, before.get(uid) ?? name, 'a name is kept');
          for (const uid of before.keys()) {
            const isGone = store.getByUid(uid) === undefined;
            assert.ok(isGone || namesOf(store).has(uid), 'who has a name is not refused');
          }
        }
        checkNames(store, livingIn(step));
      }
    }),
    { numRuns: randomSets },
  );
  t.diagnostic(`${sets} sets of clusters`);
});
