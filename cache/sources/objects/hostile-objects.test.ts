import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import * as fc from 'fast-check';
import type { ApiObject } from '../../../kube/types.ts';
import type { HubSource } from '../hub-source.ts';
import { isSubdomain } from '../../../lib/objects/api-names.ts';
import type { ClusterSpec } from '../../../model/records.ts';
import { createClusterStore } from '../../../model/store.ts';
import { makeHubSources } from './catalogue.ts';
import { hubSourceNames } from '../names.ts';
import { certificateValues, compiled, readObjects } from './hub-objects.fixture.ts';

const runs = { numRuns: 100 };
const files = ['ocm', 'cluster-gateway', 'karmada', 'cluster-api', 'vcluster', 'argocd', 'pediacluster'];
let genuine: readonly ApiObject[];
/** Kept over all runs, as over the life of a gateway: what they remember of one hub must not appear in the next. */
let sources: readonly HubSource[];
let version = 1_000_000;

before(async () => {
  const own = { ...(await certificateValues()), TOKEN: 'pedia-token' };
  const others = { ...(await certificateValues()), TOKEN: 'pedia-token-of-twin' };
  // A second cluster of each kind, whose credentials must stay with it: other names, other UIDs, other tokens and
  // certificates.
  const twin = (text: string): string =>
    text
      .replaceAll(
        /cluster1|member1|staging|prod\b|capi-quickstart|my-vcluster|cluster-example|argocd-manager-token/g,
        '$&-twin',
      )
      .replaceAll(/(uid: [0-9a-f-]+)-([0-9a-f]{4})/g, '$1-eeee-$2');
  genuine = files.flatMap((file) => [...readObjects(file, own), ...readObjects(file, others, twin)]);
  sources = everySource();
});

/** Every source. `ocm` and `cluster-gateway` are there together, as one source, and apart. */
function everySource(): readonly HubSource[] {
  const options = {
    secretNamespace: 'open-cluster-management-credentials',
    secretNamespaces: [],
    managedServiceAccount: 'cluster-gateway',
    clusterProxy: { scheme: 'https', host: 'proxy', port: 8090, userinfo: undefined } as const,
    allowExec: ['true'],
    allowExecEnv: [],
  };
  return [
    ...makeHubSources({ ...options, names: ['ocm', 'cluster-gateway'] }),
    ...hubSourceNames.flatMap((name) => makeHubSources({ ...options, names: [name] })),
  ];
}

const scalars = fc.oneof(
  fc.constantFrom<unknown>(null, undefined, 0, -1, true, false, '', ' ', '\n', 'x', [], {}, [null], [[]], '\u0000'),
  fc.constantFrom(
    'https://x',
    'http://x',
    'https://a:b@x',
    'https://x/../y',
    'file:///etc/passwd',
    '//x',
    'x'.repeat(9),
  ),
  fc.constantFrom('bm8gcGVt', '!!!', '/w==', 'ew==', 'Og==', 'e30=', 'W10=', 'bnVsbA=='),
  fc.string(),
  fc.string().map((text) => Buffer.from(text).toString('base64')),
  fc.jsonValue(),
);

/** Paths of every field below `metadata` names, which a hub guarantees, and of everything else. */
function pathsOf(value: unknown, path: readonly string[] = []): readonly (readonly string[])[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, each]) => {
    const here = [...path, key];
    const kept = [
      'apiVersion',
      'kind',
      'metadata',
      'metadata.name',
      'metadata.namespace',
      'metadata.uid',
      'metadata.resourceVersion',
    ];
    return [...(kept.includes(here.join('.')) ? [] : [here]), ...pathsOf(each, here)];
  });
}

function nextVersion(): string {
  version += 1;
  return String(version);
}

function replaced(object: ApiObject, path: readonly string[], value: unknown): ApiObject {
  const copy = structuredClone(object) as unknown as Record<string, any>;
  const holder = path.slice(0, -1).reduce((found: any, key) => found?.[key], copy);
  const last = path.at(-1) ?? '';
  if (typeof holder !== 'object' || holder === null) return object;
  if (value === undefined) delete holder[last];
  else holder[last] = value;
  copy['metadata'].resourceVersion = nextVersion();
  return copy as unknown as ApiObject;
}

/** All texts in an object, decoded as deep as sources decode. */
function textsIn(value: unknown): string {
  if (typeof value === 'string') {
    const inner = Buffer.from(value, 'base64').toString('utf8');
    const deeper = inner.replaceAll(
      /[A-Za-z0-9+/=]{16,}/g,
      (run) => `${run} ${Buffer.from(run, 'base64').toString('utf8')}`,
    );
    return `${value}\n${deeper}`;
  }
  if (typeof value !== 'object' || value === null) return '';
  return Object.values(value).map(textsIn).join('\n');
}

const texts = new WeakMap<ApiObject, string>();

function textsOf(object: ApiObject): string {
  const found = texts.get(object) ?? textsIn(object);
  texts.set(object, found);
  return found;
}

/** The objects that may describe a cluster, by the rules of its source. */
function objectsOf(
  { source, originalName: name, sourceDetail }: ClusterSpec,
  objects: readonly ApiObject[],
): readonly ApiObject[] {
  const beside = sourceDetail.split(' ').at(-1) ?? '';
  const titles: Readonly<Record<string, readonly string[]>> = {
    ocm: [name, `open-cluster-management-credentials/${name}`, `${name}/cluster-gateway`],
    'cluster-gateway': [`open-cluster-management-credentials/${name}`],
    karmada: [name, `karmada-cluster/${name}`, `karmada-cluster/${name}-impersonator`],
    'cluster-api': [`${beside}-kubeconfig`],
    vcluster: [beside],
    argocd: [beside],
    pediacluster: [name],
  };
  const own = titles[source] ?? [];
  return objects.filter(({ metadata }) =>
    own.includes(metadata.namespace === undefined ? metadata.name : `${metadata.namespace}/${metadata.name}`),
  );
}

async function check(specs: readonly ClusterSpec[], objects: readonly ApiObject[]): Promise<void> {
  const store = createClusterStore();
  store.apply('hub', specs);
  for (const spec of specs) {
    assert.match(spec.uid, /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    const shown = JSON.stringify({ ...spec, credential: undefined, proxy: undefined });
    assert.doesNotMatch(shown, /-token-of-|manager-token|pedia-token|PRIVATE KEY|c2VjcmV0LWlu/);
    assert.equal(spec.problem === undefined, spec.credential !== undefined);
    assert.equal(spec.problem === undefined, spec.endpoint !== undefined);
    if (spec.problem !== undefined) {
      assert.notEqual(spec.problem.message, '');
      assert.match(spec.problem.reason, /^[A-Z][A-Za-z]+$/);
      continue;
    }
    assert.equal(spec.endpoint?.scheme, 'https');
    if (isSubdomain(spec.originalName)) assert.equal(spec.name, spec.originalName);
    else assert.match(spec.name, /^[a-z0-9](?:[a-z0-9-]{0,50}[a-z0-9])?-[a-z0-9]{10}$/);
    if (spec.credential?.kind === 'exec') continue;
    const credential = await spec.credential?.current();
    assert.ok(credential?.authorization !== undefined || credential?.clientCertificate !== undefined);
    const said = objectsOf(spec, objects).map(textsOf).join('\n');
    const { authorization = '', clientCertificate } = credential ?? {};
    if (authorization.startsWith('Bearer '))
      assert.ok(said.includes(authorization.slice('Bearer '.length)), authorization);
    if (clientCertificate !== undefined) {
      assert.ok(said.includes(clientCertificate.key.split('\n')[1] ?? '?'));
    }
  }
}

test('whatever a field holds, no source throws, and no cluster gets a credential that is not in its own objects', async () => {
  const paths = genuine.flatMap((object, index) => pathsOf(object).map((path) => ({ index, path })));
  assert.ok(paths.length > 200);
  const change = fc.record({ at: fc.constantFrom(...paths), value: scalars });
  await fc.assert(
    fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 6 }), async (changes) => {
      const objects = [...genuine];
      for (const { at, value } of changes) {
        const object = objects[at.index];
        if (object !== undefined) objects[at.index] = replaced(object, at.path, value);
      }
      for (const source of sources) await check(compiled(source, objects), objects);
    }),
    runs,
  );
});

test('objects with their Secrets mixed up at random never get the credential of another', async () => {
  const secrets = genuine.filter((object) => object['kind'] === 'Secret');
  await fc.assert(
    fc.asyncProperty(
      fc.shuffledSubarray([...secrets.keys()]),
      fc.shuffledSubarray([...genuine.keys()]),
      async (swap, kept) => {
        const objects = kept.flatMap((index) => genuine[index] ?? []);
        // Some Secrets take the names of others, and the data stays.
        const renamed = objects.map((object) => {
          const place = secrets.indexOf(object);
          const other = secrets[swap.indexOf(place)];
          return place === -1 || other === undefined
            ? object
            : {
                ...object,
                metadata: { ...object.metadata, name: other.metadata.name, namespace: other.metadata.namespace ?? '' },
              };
        });
        const unique = [
          ...new Map(
            renamed.map((object) => [
              JSON.stringify([object['kind'], object.metadata.namespace, object.metadata.name]),
              object,
            ]),
          ).values(),
        ];
        for (const source of sources) await check(compiled(source, unique), unique);
      },
    ),
    runs,
  );
});

test('random objects with the right labels and names never throw', async () => {
  const specs = fc.dictionary(fc.string(), scalars);
  await fc.assert(
    fc.asyncProperty(specs, specs, scalars, async (spec, data, labels) => {
      const objects = genuine.map((object): ApiObject => ({
        ...object,
        spec,
        data,
        status: labels,
        metadata: {
          ...object.metadata,
          resourceVersion: nextVersion(),
          labels: { ...object.metadata.labels, ...(labels as object) },
        },
      }));
      for (const source of sources) await check(compiled(source, objects), objects);
    }),
    runs,
  );
});

test('names of object members are no fields, and their labels are no labels', () => {
  const [cluster] = genuine;
  assert.ok(cluster);
  const odd = JSON.parse(
    JSON.stringify({ ...cluster, spec: null }).replace(
      '"labels":{',
      '"labels":{"__proto__":"x","constructor":"y","a/b/c":"z",',
    ),
  ) as ApiObject;
  const bare = {
    ...odd,
    metadata: { ...odd.metadata, resourceVersion: nextVersion() },
    spec: Object.create({ hubAcceptsClient: true }) as unknown,
  };
  const [source] = sources;
  const [spec] = compiled(source as HubSource, [bare]);
  assert.equal(spec?.problem?.reason, 'HubDeniesClient');
  assert.deepEqual(
    Object.keys(spec.labels).filter((key) => !key.includes('.')),
    ['constructor', 'cloud'],
  );
});
