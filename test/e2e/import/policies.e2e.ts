// What users of import policies see on a real hub: wrong policies, sources that cannot be judged, names, edits, ends.
// Landing tier: import policies make clusters of any kind of object.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Member } from '../../controlplane/fixture.ts';
import { openDefinition } from './definitions.ts';
import {
  eventually,
  condition,
  hasReason,
  isGone,
  paths,
  read,
  remove,
  startImportSite,
  type ImportSite,
  type Json,
} from './import-site.ts';

const things = '/apis/example.io/v1/namespaces/ns1/things';
const merge = { 'content-type': 'application/merge-patch+json' };
let site: ImportSite;
let hub: Member;

before(async () => {
  site = await startImportSite({
    members: [],
    sourceRules: [{ apiGroups: ['example.io'], resources: ['things', 'places'], verbs: ['list', 'watch'] }],
  });
  hub = site.hub;
  for (const [kind, plural, scope] of [
    ['Thing', 'things', 'Namespaced'],
    ['Place', 'places', 'Cluster'],
    ['Hidden', 'hiddens', 'Namespaced'],
  ] as const)
    await hub.apply(openDefinition(`${plural}.example.io`, kind, scope, 'v1'));
  for (const path of [things, '/apis/example.io/v1/places', '/apis/example.io/v1/hiddens'])
    await eventually(`the hub serves ${path}`, async () => (await hub.request('GET', path)).status === 200);
  await hub.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'ns1' } });
});

after(() => site?.stop());

/** Makes the object or changes its spec. */
async function put(collection: string, object: Json): Promise<string> {
  const path = `${collection}/${object.metadata.name}`;
  const isThere = (await read(hub, path)) !== undefined;
  const answer = isThere
    ? await hub.request('PATCH', path, { spec: object.spec }, merge)
    : await hub.request('POST', collection, object);
  assert.ok(answer.status < 300, answer.body);
  return path;
}

async function putThing(name: string, spec: object, kind = 'Thing'): Promise<void> {
  const isPlace = kind === 'Place';
  const metadata = isPlace ? { name } : { name, namespace: 'ns1' };
  await put(isPlace ? '/apis/example.io/v1/places' : things, { apiVersion: 'example.io/v1', kind, metadata, spec });
}

const body = `spec:
  apiserver: "https://{{ .source.spec.host }}"
  tokenData: "{{ .source.spec.token | default "t" | b64enc }}"
  syncResources: [{ group: "", resources: [pods] }]`;

/** A policy that takes the Things whose spec.of is its name. */
async function putPolicy(name: string, more: Json = {}): Promise<string> {
  const { source = {}, annotations, ...rest } = more;
  const spec = {
    source: {
      group: 'example.io',
      resource: 'things',
      selectorTemplate: `{{ eq .source.spec.of "${name}" }}`,
      ...source,
    },
    nameTemplate: `${name}-{{ .source.metadata.name }}`,
    template: body,
    creationCondition: 'true',
    ...rest,
  };
  const object = {
    apiVersion: 'policy.clusterpedia.io/v1alpha1',
    kind: 'ClusterImportPolicy',
    metadata: { name, ...(annotations && { annotations }) },
    spec,
  };
  return await put(paths.policies, object);
}

const lifecycle = (name: string): string => `${paths.lifecycles}/${name}`;
const cluster = (name: string): string => `${paths.clusters}/${name}`;

async function isReconciled(policy: string): Promise<void> {
  await hasReason(hub, policy, 'Reconciling', 'ReconcileSourceResourceAndLifecycle');
}

test('a version or reference that the hub does not serve is named in the policy', async () => {
  const version = await putPolicy('no-version', { source: { versions: ['v9'] } });
  const { message } = await hasReason(hub, version, 'Validated', 'FailedNegotiateSourceResource');
  assert.equal(message, 'the hub serves things.example.io in v1, and not in v9');
  const references = [{ key: 'a', group: 'nowhere.io', resource: 'nothings', nameTemplate: 'x' }];
  const reference = await putPolicy('no-reference', { references });
  const other = await hasReason(hub, reference, 'Validated', 'FailedNegotiateReferenceResource');
  assert.equal(other.message, '[0] the hub does not serve nothings.nowhere.io');
  assert.equal(await condition(hub, reference, 'Reconciling'), undefined);
  assert.deepEqual((await read(hub, paths.lifecycles)).items, []);
});

test('a template that cannot be read gives the reason that Clusterpedia gives, and says where', async () => {
  const broken: readonly [string, Json, string, RegExp][] = [
    ['bad-name', { nameTemplate: '{{ .source' }, 'FailedParseLifecycleName', /^nameTemplate: .*1/],
    [
      'bad-selector',
      { source: { selectorTemplate: '{{ if }}' } },
      'FailedParseSourceSelector',
      /^source\.selectorTemplate: /,
    ],
    ['bad-template', { template: 'a:\n{{ end }}' }, 'InvalaidPolicy', /^template: .*2/],
    ['bad-condition', { creationCondition: '{{ nothing }}' }, 'InvalaidPolicy', /^creationCondition: .*nothing/],
    ['bad-env', { template: '{{ env "HOME" }}' }, 'InvalaidPolicy', /env/],
    ['bad-now', { template: '{{ now }}' }, 'InvalaidPolicy', /now/],
    ['bad-ca', { template: '{{ genCA "a" 1 }}' }, 'InvalaidPolicy', /genCA/],
  ];
  for (const [name, more, reason, words] of broken) {
    const policy = await putPolicy(name, more);
    assert.match((await hasReason(hub, policy, 'Validated', reason)).message, words);
    assert.equal((await read(hub, policy)).status.conditions.length, 1);
  }
});

test('a selector must print true and nothing else, in any case and with blanks around it', async () => {
  const printing = {
    selectorTemplate: '{{ if hasPrefix "prints-" .source.metadata.name }}{{ .source.spec.print }}{{ end }}',
  };
  await putThing('prints-true', { host: 'a', print: ' \n TRUE \n ' });
  for (const [name, print] of Object.entries({ twice: 'true true', one: '1', nothing: '' }))
    await putThing(`prints-${name}`, { print });
  await isReconciled(await putPolicy('p26', { source: printing }));
  const names = (await read(hub, paths.lifecycles)).items.map(({ metadata }: Json) => metadata.name);
  assert.deepEqual(
    names.filter((name: string) => name.startsWith('p26-')),
    ['p26-prints-true'],
  );
});

test('a source whose selector fails keeps its cluster and is named in the policy, and others go on', async () => {
  await putThing('keeps', { of: 'p27', host: 'a' });
  const policy = await putPolicy('p27', {
    source: { selectorTemplate: '{{ and (eq .source.spec.of "p27") (hasPrefix "a" .source.spec.host) }}' },
  });
  await eventually('it is imported', async () => (await read(hub, cluster('p27-keeps'))) !== undefined);
  await putThing('keeps', { of: 'p27', host: { not: 'text' } });
  assert.match(
    (await hasReason(hub, policy, 'Reconciling', 'FailedReconcile')).message,
    /ns1\/keeps: selectorTemplate: /,
  );
  await putThing('other', { of: 'p27', host: 'a' });
  await eventually('the other is imported', async () => (await read(hub, cluster('p27-other'))) !== undefined);
  assert.equal((await read(hub, cluster('p27-keeps'))).metadata.deletionTimestamp, undefined);
  await putThing('keeps', { of: 'nobody' });
  await isGone(hub, lifecycle('p27-keeps'));
  await isGone(hub, cluster('p27-keeps'));
  await isReconciled(policy);
});

test('an edited nameTemplate makes new clusters and removes the old ones', async () => {
  await putThing('renamed', { of: 'p29', host: 'a' });
  await putPolicy('p29');
  await eventually('it is imported', async () => (await read(hub, cluster('p29-renamed'))) !== undefined);
  await putPolicy('p29', { nameTemplate: 'new-{{ .source.metadata.name }}' });
  await eventually('it is imported anew', async () => (await read(hub, cluster('new-renamed'))) !== undefined);
  await isGone(hub, cluster('p29-renamed'));
});

test('edited syncResources count for new clusters only, and an edited credential for all', async () => {
  await putThing('first', { of: 'p30', host: 'a', token: 'one' });
  await putPolicy('p30');
  await eventually('it is imported', async () => (await read(hub, cluster('p30-first'))) !== undefined);
  const template = body.replace('pods', 'nodes').replace('"t" | b64enc', '"t" | upper | b64enc');
  await putPolicy('p30', { template });
  await putThing('second', { of: 'p30', host: 'a', token: 'two' });
  await eventually(
    'the credential follows',
    async () => (await read(hub, cluster('p30-first'))).spec.tokenData === btoa('ONE'),
  );
  const second = await eventually('the second', () => read(hub, cluster('p30-second')));
  const resourcesOf = ({ spec }: Json): unknown => spec.syncResources[0].resources;
  assert.deepEqual([resourcesOf(await read(hub, cluster('p30-first'))), resourcesOf(second)], [['pods'], ['nodes']]);
  assert.equal((await read(hub, lifecycle('p30-first'))).spec.template, template);
});

test('a policy that asks for it brings everything that its template prints to the clusters it has made', async () => {
  await putThing('whole', { of: 'whole', host: 'a' });
  const template = (label: string, resource: string): string =>
    `metadata: { labels: { ${label}: "1" } }\n${body.replace('pods', resource)}`;
  await putPolicy('whole', {
    template: template('one', 'pods'),
    annotations: { 'import.portcullis.io/follow-template': 'true' },
  });
  await eventually('it is imported', () => read(hub, cluster('whole-whole')));
  await hub.request('PATCH', cluster('whole-whole'), { metadata: { labels: { theirs: '1' } } }, merge);
  await putPolicy('whole', { template: template('two', 'nodes') });
  const shown = async (): Promise<string> => {
    const { metadata, spec } = await read(hub, cluster('whole-whole'));
    return JSON.stringify([metadata.labels, spec.syncResources[0].resources]);
  };
  const wanted = JSON.stringify([{ theirs: '1', two: '1' }, ['nodes']]);
  await eventually('all of it follows', async () => (await shown()) === wanted);
  const edited = { metadata: { labels: { two: null } }, spec: { syncResources: [] } };
  await hub.request('PATCH', cluster('whole-whole'), edited, merge);
  await eventually('it is put back', async () => (await shown()) === wanted);
});

test('a policy may leave the choice of sources to the hub, which then sends no others', async () => {
  await putThing('chosen', { of: 'selects', host: 'a' });
  await putThing('other', { of: 'selects', host: 'a' });
  await putPolicy('selects', {
    annotations: { 'import.portcullis.io/field-selector.source': 'metadata.name=chosen' },
  });
  await eventually('it is imported', () => read(hub, cluster('selects-chosen')));
  await isReconciled(`${paths.policies}/selects`);
  assert.equal(await read(hub, lifecycle('selects-other')), undefined);
  const annotations = { 'import.portcullis.io/field-selector.source': 'metadata.name=other' };
  await hub.request('PATCH', `${paths.policies}/selects`, { metadata: { annotations } }, merge);
  await eventually('the other one is imported', () => read(hub, cluster('selects-other')));
  await isGone(hub, cluster('selects-chosen'));
});

test('labels and annotations of the template are those of the cluster, and its name is the lifecycle’s', async () => {
  await putThing('labelled', { of: 'p32', host: 'a' });
  await putPolicy('p32', {
    template: `metadata: { name: other, labels: { l: "1" }, annotations: { a: "2" } }\n${body}`,
  });
  const { metadata } = await eventually('it is imported', () => read(hub, cluster('p32-labelled')));
  assert.deepEqual([metadata.labels, metadata.annotations], [{ l: '1' }, { a: '2' }]);
});

test('a template without syncResources fails with the words of the hub, and works once it is mended', async () => {
  await putThing('empty', { of: 'p33', host: 'a' });
  await putPolicy('p33', { template: 'spec: { apiserver: "https://a" }' });
  const { message } = await hasReason(hub, lifecycle('p33-empty'), 'Created', 'CreationFailure');
  assert.match(message, /spec\.syncResources: Required value/);
  await putPolicy('p33');
  await hasReason(hub, lifecycle('p33-empty'), 'Created', 'PediaClusterCreated');
});

test('what is no PediaCluster is told with its line, and never with its text', async () => {
  await putThing('bad', { of: 'p34', host: 'a' });
  for (const [template, words] of [
    ['spec:\n  apiserver: [SECRET', /line 2/],
    ['spec:\n  tokenData: "SECRET!"', /line 2, column \d+: spec\.tokenData is not valid base64/],
    ['kind: Pod', /line 1, column \d+: kind must be PediaCluster/],
    ['spec: {{ index .source.spec "host" "SECRET" }}', /template/],
  ] as const) {
    await putPolicy('p34', { template });
    await eventually(`${template} is told`, async () => {
      const reported = await condition(hub, lifecycle('p34-bad'), 'Created');
      return (
        reported?.reason === 'FailedResolveAndDecodePediaCluster' &&
        words.test(reported.message) &&
        !/SECRET/.test(reported.message)
      );
    });
  }
});

test('values arrive byte for byte, whatever characters they hold', async () => {
  const token = `+&<>"'~~ä`;
  const ca = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte)).toString('base64');
  await putThing('bytes', { of: 'p35', host: 'a/?a=1&b=2', token, ca });
  const address = body.replace('"https://{{ .source.spec.host }}"', `{{ .source.spec.host | toJson }}`);
  await putPolicy('p35', { template: `${address}\n  caData: {{ .source.spec.ca | b64dec | b64enc }}` });
  const { spec } = await eventually('it is imported', () => read(hub, cluster('p35-bytes')));
  assert.deepEqual([spec.apiserver, Buffer.from(spec.tokenData, 'base64').toString()], ['a/?a=1&b=2', token]);
  assert.equal(spec.caData, ca);
});

test('a cluster that was there first is left alone until it is handed over, and survives its source', async () => {
  const spec = { apiserver: 'https://old', tokenData: btoa('old'), syncResources: [] };
  const metadata = { name: 'p40-there' };
  await hub.apply({ apiVersion: 'cluster.clusterpedia.io/v1alpha2', kind: 'PediaCluster', metadata, spec });
  await putThing('there', { of: 'p40', host: 'new', token: 'new' });
  await putPolicy('p40');
  const { message } = await hasReason(hub, lifecycle('p40-there'), 'Updating', 'PediaClusterNotOwned');
  await hasReason(hub, lifecycle('p40-there'), 'Created', 'PediaClusterExisted');
  assert.deepEqual((await read(hub, cluster('p40-there'))).spec, spec);
  await hub.kubectl(/: kubectl (annotate .*)$/.exec(message)![1]!.split(' '));
  await hasReason(hub, lifecycle('p40-there'), 'Updating', 'PediaClusterUpdated');
  assert.equal((await read(hub, cluster('p40-there'))).spec.tokenData, btoa('new'));
  assert.equal((await read(hub, cluster('p40-there'))).metadata.ownerReferences, undefined);
  await remove(hub, `${things}/there`);
  await isGone(hub, lifecycle('p40-there'));
  assert.equal((await read(hub, cluster('p40-there'))).metadata.deletionTimestamp, undefined);
});

test('a policy that is deleted takes everything with it, and orphaned it leaves clusters that stay', async () => {
  for (const name of ['p41', 'p41b']) {
    await putThing(name, { of: name, host: 'a' });
    await putPolicy(name);
    await eventually('it is imported', async () => (await read(hub, cluster(`${name}-${name}`))) !== undefined);
  }
  await remove(hub, `${paths.policies}/p41`);
  for (const path of [`${paths.policies}/p41`, lifecycle('p41-p41'), cluster('p41-p41')]) await isGone(hub, path);
  await hub.kubectl(['delete', 'clusterimportpolicy', 'p41b', '--cascade=orphan']);
  await isGone(hub, `${paths.policies}/p41b`);
  await eventually(
    'it is an orphan',
    async () => (await condition(hub, lifecycle('p41b-p41b'), 'Updating'))?.reason === 'OrphanLifecycle',
  );
  assert.equal((await read(hub, cluster('p41b-p41b'))).metadata.deletionTimestamp, undefined);
});

test('of two sources with one name the older has it, and the other is named in the policy', async () => {
  await putThing('z-older', { of: 'p42', host: 'older' });
  await eventually(
    'a second has passed',
    async () => Date.now() > Date.parse((await read(hub, `${things}/z-older`)).metadata.creationTimestamp) + 1100,
  );
  await putThing('a-younger', { of: 'p42', host: 'younger' });
  const policy = await putPolicy('p42', { nameTemplate: 'p42-same' });
  const { message } = await hasReason(hub, policy, 'Reconciling', 'FailedReconcile');
  assert.match(message, /ns1\/a-younger: the name "p42-same" belongs to the older ns1\/z-older/);
  const { metadata } = await read(hub, lifecycle('p42-same'));
  await putThing('a-younger', { host: 'younger still' });
  await putThing('z-older', { host: 'oldest' });
  await eventually('it follows', async () => /oldest/.test((await read(hub, cluster('p42-same')))?.spec.apiserver));
  const { uid, generation } = (await read(hub, lifecycle('p42-same'))).metadata;
  assert.deepEqual([uid, generation], [metadata.uid, metadata.generation]);
  const running = async (): Promise<Json> => await condition(hub, cluster('p42-same'), 'SynchroRunning');
  await eventually('its state, too', async () => /oldest/.test((await running())?.message));
});

test('references may name each other, be cluster-scoped, and bring their changes to the cluster', async () => {
  await putThing('chain', { of: 'p24', host: 'a', place: 'home' });
  await putThing('end', { token: 'one' });
  await putThing('home', { next: 'end' }, 'Place');
  const references = [
    { key: 'a', group: 'example.io', resource: 'place', nameTemplate: '{{ .source.spec.place }}' },
    {
      key: 'b',
      group: 'example.io',
      resource: 'things',
      namespaceTemplate: 'ns1',
      nameTemplate: '{{ .references.a.spec.next }}',
    },
  ];
  await putPolicy('p24', { references, template: body.replace('.source.spec.token', '.references.b.spec.token') });
  await eventually(
    'it is imported',
    async () => (await read(hub, cluster('p24-chain')))?.spec.tokenData === btoa('one'),
  );
  await putThing('end', { token: 'two' });
  await eventually(
    'the change arrives',
    async () => (await read(hub, cluster('p24-chain'))).spec.tokenData === btoa('two'),
  );
});

test('a template without end fails at once, and the gateway serves meanwhile', async () => {
  const many = '{{ range 9999 }}{{ range 9999 }}{{ range 9999 }}x{{ end }}{{ end }}{{ end }}';
  await putThing('endless', { of: 'p44', host: 'a' });
  await putPolicy('p44', { template: many });
  const reported = hasReason(hub, lifecycle('p44-endless'), 'Created', 'FailedResolveAndDecodePediaCluster');
  assert.equal((await fetch(`${site.gateway.opsUrl}/livez`)).status, 200);
  assert.match((await reported).message, /^template: /);
});

test('a type that the gateway may not read is told with the missing rule, and read once it is granted', async () => {
  const policy = await putPolicy('p45', { source: { resource: 'hiddens', selectorTemplate: '' } });
  const { message } = await hasReason(hub, policy, 'Reconciling', 'FailedListSourceResources');
  assert.match(message, /apiGroups \["example\.io"\], resources \["hiddens"\], verbs \["list", "watch"\]/);
  const rules = [{ apiGroups: ['example.io'], resources: ['hiddens'], verbs: ['list', 'watch'] }];
  const role = await read(hub, '/apis/rbac.authorization.k8s.io/v1/clusterroles/portcullis-import');
  await hub.request(
    'PATCH',
    '/apis/rbac.authorization.k8s.io/v1/clusterroles/portcullis-import',
    { rules: [...role.rules, ...rules] },
    merge,
  );
  await isReconciled(policy);
});

test('at rest nothing is written, and nothing of a Secret is in the log', async () => {
  const versions = async (): Promise<readonly Json[]> => {
    const lists = await Promise.all([paths.lifecycles, paths.clusters].map((path) => read(hub, path)));
    return lists
      .flatMap(({ items }) => items.map(({ kind, metadata }: Json) => [kind, metadata.name, metadata.resourceVersion]))
      .filter(([, name]) => name !== 'p30-last');
  };
  const before = await versions();
  // All sources are judged again for this one, and whatever that led to is written by the time it is done.
  await putThing('last', { of: 'p30', host: 'a' });
  await hasReason(hub, lifecycle('p30-last'), 'Updating', 'PediaClusterUpdated');
  await hasReason(hub, cluster('p30-last'), 'SynchroRunning', 'InitialFailed');
  assert.deepEqual(await versions(), before);
  assert.doesNotMatch(site.gateway.log(), /SECRET/);
});
