// Real kubectl on real members through the context `portcullis-all`: output forms, selectors, paging, sorting, watch,
// discovery, explain; and every item of every type is what its member has.
// Landing tier: kubectl over all clusters by the index.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { startControlPlane } from '../../controlplane/fixture.ts';
import { gatewayUser } from '../../controlplane/fixture-types.ts';
import type { ControlPlane, Member } from '../../controlplane/fixture.ts';
import { startGatewayProcess } from '../../gateway-process.ts';
import type { GatewayProcess } from '../../gateway-process.ts';
import { corpus, documented, flatten, itemTexts, reviewRights, thingDefinition } from './index-objects.ts';
import { ask } from '../kubectl/kubectl-as.ts';
import { eventually } from '../../site/polling.ts';
import { customResource } from '../../site/custom-resource.ts';

const run = promisify(execFile);
const program = new URL('../../../bin/portcullis.mjs', import.meta.url).pathname;
const proxy = '/apis/search.portcullis.io/v1alpha1/indexes/default/proxy';
const cluster = 'shadow.clusterpedia.io/cluster-name';
const carol = { name: 'carol', groups: [], token: 'carol-at-the-gateway' };
const alice = { name: 'alice', groups: [], token: 'alice-at-the-gateway' };
let plane: ControlPlane;
let gateway: GatewayProcess;
let kubeconfig: string;

before(async () => {
  plane = await startControlPlane({ members: ['m1', 'm2'] });
  const { stdout: access } = await run(process.execPath, [
    program,
    ...[
      'generate',
      'member-access',
      '--index',
      '--index-resources',
      '*',
      '--gateway-service-account',
      'portcullis/gateway',
    ],
  ]);
  for (const member of plane.members) {
    const applied = await member.kubectl(['apply', '-f', '-'], { stdin: access });
    assert.equal(applied.code, 0, applied.stderr);
    await member.apply(...reviewRights(gatewayUser), thingDefinition);
    await eventually('things are served', async () => {
      return (await member.request('GET', '/apis/corpus.example.org/v1/namespaces/team-a/things')).status === 200;
    });
    for (const { path, text } of corpus()) await create(member, path, text);
  }
  await create(plane.member('m2'), '/api/v1/namespaces/team-a/pods', JSON.stringify(pod('only-there')));
  for (const member of plane.members)
    await create(member, '/api/v1/namespaces/team-a/pods', JSON.stringify(pod('web')));
  gateway = await startGatewayProcess({
    kubeconfigs: [plane.gatewayKubeconfig],
    users: [carol, alice],
    args: ['--index-resources', '*'],
  });
  kubeconfig = join(plane.dir, 'index.kubeconfig');
  await run(process.execPath, [
    program,
    'kubeconfig',
    ...['--server', gateway.url, '--certificate-authority', gateway.caFile, '--token', carol.token],
    ...['--all', '--index', '--output', kubeconfig],
  ]);
  await eventually(
    'the index is whole',
    async () => {
      const fresh = await ask(
        gateway,
        carol.token,
        'GET',
        '/apis/search.portcullis.io/v1alpha1/indexes/default/freshness',
      );
      const { clusters } = JSON.parse(fresh.body.toString('utf8')) as {
        readonly clusters: readonly { readonly resources: readonly { readonly whole: boolean }[] }[];
      };
      return (
        clusters.length === 2 &&
        clusters.every(({ resources }) => resources.length > 20 && resources.every(({ whole }) => whole))
      );
    },
    { timeoutMs: 60_000 },
  );
});

after(async () => {
  await gateway?.stop('SIGKILL');
  await plane?.stop();
});

function pod(name: string): object {
  const containers = [{ name: 'c', image: 'registry.example.org/c:1' }];
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'team-a', labels: { app: 'web' } },
    spec: { containers },
  };
}

/** Sent as text: what JSON.stringify would change must reach the member. */
async function create(member: Member, path: string, text: string): Promise<void> {
  const file = join(plane.dir, 'object.json');
  writeFileSync(file, text);
  const made = await member.kubectl(['create', '--raw', path, '-f', file]);
  if (made.code !== 0 && !made.stderr.includes('AlreadyExists')) assert.fail(`${path}: ${made.stderr}`);
}

async function kubectl(...args: readonly string[]): Promise<string> {
  return (await outputs(...args)).stdout;
}
async function outputs(...args: readonly string[]): Promise<{ readonly stdout: string; readonly stderr: string }> {
  const options = { env: { PATH: process.env['PATH'], HOME: plane.dir }, maxBuffer: 64 * 1024 * 1024 };
  return run(plane.binaries['kubectl']!, ['--kubeconfig', kubeconfig, '--context', 'portcullis-all', ...args], options);
}
async function direct(member: Member, ...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await member.kubectl(args);
  assert.equal(code, 0, stderr);
  return stdout;
}
async function ofMembers(...args: readonly string[]): Promise<string[]> {
  const texts = await Promise.all(plane.members.map((member) => direct(member, ...args)));
  return texts.flatMap((text) => text.trimEnd().split('\n')).toSorted();
}
const lines = (text: string): string[] => text.trimEnd().split('\n').toSorted();

test('every item of every type is what its member has, but for what is documented', async () => {
  const compared = new Map<string, number>();
  const types = lines(await kubectl('api-resources', '-o', 'name', '--no-headers', '--verbs=list,watch'));
  const known = lines(await direct(plane.member('m1'), 'api-resources', '-o', 'name', '--verbs=list,watch'));
  assert.deepEqual(types, known);
  // These are not in the index, and change by themselves.
  const live = ['events', 'events.events.k8s.io', 'leases.coordination.k8s.io'];
  for (const type of types.filter((each) => !live.includes(each))) {
    const list = await kubectl('get', '-A', type, '-o', 'json', '--chunk-size=0');
    // kubectl prints a list of its own; the bytes are those of the answer.
    const { items } = JSON.parse(list) as {
      readonly items: readonly { readonly apiVersion: string; readonly kind: string }[];
    };
    if (items.length === 0) continue;
    const { apiVersion } = items[0]!;
    const path = `/${apiVersion.includes('/') ? `apis/${apiVersion}` : `api/${apiVersion}`}/${type.split('.')[0]}`;
    const texts = itemTexts((await ask(gateway, carol.token, 'GET', proxy + path)).body.toString('utf8'));
    assert.equal(texts.length, items.length, type);
    for (const text of texts) {
      const { metadata } = JSON.parse(text) as {
        readonly metadata: {
          readonly name: string;
          readonly namespace?: string;
          readonly annotations: Readonly<Record<string, string>>;
        };
      };
      const place = metadata.namespace === undefined ? '' : `namespaces/${metadata.namespace}/`;
      const own = path.replace(/\/([^/]+)$/, `/${place}$1/${encodeURIComponent(metadata.name)}`);
      const original = await plane.member(metadata.annotations[cluster]!).request('GET', own);
      assert.equal(original.status, 200, own);
      // Secrets are redacted; that is told elsewhere.
      if (type === 'secrets') continue;
      assert.deepEqual(documented(flatten(text)), documented(flatten(original.body)), own);
    }
    compared.set(type, texts.length);
  }
  assert.equal(compared.get('things.corpus.example.org'), 14);
  assert.ok(compared.size > 10, [...compared.keys()].join());
});

test('what kubectl prints of both members is what it prints of each', async () => {
  for (const args of [
    ['get', 'configmaps', '-A', '-o', 'name'],
    ['get', 'things', '-n', 'team-a', '-o', 'name'],
    ['get', 'th', '-A', '-l', 'app=web', '-o', 'name'],
    ['get', 'configmaps', '-A', '-l', 'app in (web,other),app!=other', '-o', 'name'],
    ['get', 'configmaps', '-A', '--field-selector', 'metadata.name=two', '-o', 'name'],
    ['get', 'configmaps', '-A', '-o', 'jsonpath={range .items[*]}{.metadata.namespace}/{.metadata.name}{"\\n"}{end}'],
    ['get', 'configmaps', '-n', 'team-a', '-o', 'custom-columns=NAME:.metadata.name,UID:.metadata.uid', '--no-headers'],
    ['get', 'configmaps', '-A', '-o', 'go-template={{range .items}}{{.metadata.uid}}{{"\\n"}}{{end}}'],
    ['get', 'namespaces', '-o', 'name'],
    ['get', 'clusterroles', '--no-headers', '-o', 'custom-columns=NAME:.metadata.name'],
  ]) {
    assert.deepEqual(lines(await kubectl(...args)), await ofMembers(...args), args.join(' '));
  }
  const withoutCluster = (text: string): string[] =>
    text
      .trimEnd()
      .split('\n')
      .map((line) =>
        line
          .replace(/\bm[12]\b\s+/, '')
          .replace(/\s+\S+$/, '')
          .replace(/\s+/g, ' '),
      )
      .toSorted();
  for (const args of [
    ['get', 'pods', '-A', '--no-headers'],
    ['get', 'configmaps', '-A', '--no-headers'],
    ['get', 'things', '-A', '--no-headers'],
    ['get', 'namespaces', '--no-headers'],
  ]) {
    const expected = await Promise.all(plane.members.map((member) => direct(member, ...args)));
    assert.deepEqual(withoutCluster(await kubectl(...args)), withoutCluster(expected.join('')), args.join(' '));
  }
  const yaml = parse(await kubectl('get', 'pod', 'only-there', '-n', 'team-a', '-o', 'yaml')) as {
    readonly metadata: { readonly uid: string; readonly annotations: Readonly<Record<string, string>> };
  };
  assert.equal(yaml.metadata.annotations[cluster], 'm2');
  assert.match(await kubectl('get', 'pods', '-A', '-o', 'wide'), /^NAMESPACE\s+CLUSTER\s+NAME\s+READY.*NOMINATED NODE/);
  assert.match(await kubectl('describe', 'pod', 'only-there', '-n', 'team-a'), /Name:\s+only-there/);
  // Of these kubectl describes nothing when the events of it are refused, and events are not indexed.
  await plane.member('m2').apply({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'only-described', namespace: 'team-a' },
    data: { key: 'value' },
  });
  const described = await eventually('it is indexed', () =>
    outputs('describe', 'configmap', 'only-described', '-n', 'team-a').catch(() => undefined),
  );
  assert.match(described.stdout, /Name:\s+only-described[^]*value/);
  assert.match(described.stderr, /Warning: events are not in the index, so the clusters themselves were asked/);
});

test('kubectl get, describe and watch work with types that the index does not hold: the clusters are asked', async () => {
  const path = '/api/v1/namespaces/team-a/configmaps/only-described';
  const { body } = await plane.member('m2').request('GET', path);
  const { uid } = (JSON.parse(body) as { readonly metadata: { readonly uid: string } }).metadata;
  for (const member of plane.members)
    await member.apply({
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name: `event-of-${member.name}`, namespace: 'team-a' },
      involvedObject: { kind: 'ConfigMap', namespace: 'team-a', name: 'only-described', uid },
      reason: `Seen-${member.name}`,
      type: 'Normal',
    });
  const listed = await outputs('get', 'events', '-n', 'team-a');
  assert.match(listed.stdout, /^CLUSTER\s+LAST SEEN\s+TYPE\s+REASON/);
  assert.match(listed.stdout, /m1 .*Seen-m1[^]*m2 .*Seen-m2/);
  assert.match(listed.stderr, /Warning: events are not in the index, so the clusters themselves were asked/);
  assert.match(
    await kubectl('describe', 'configmap', 'only-described', '-n', 'team-a'),
    /Seen-m1[^]*Seen-m2|Seen-m2[^]*Seen-m1/,
  );
  assert.match(await kubectl('events', '-n', 'team-a'), /Seen-m1[^]*Seen-m2|Seen-m2[^]*Seen-m1/);
  const leases = await kubectl('get', 'leases', '-n', 'kube-system', '-o', 'name');
  assert.match(leases, /lease.coordination.k8s.io/);
  const resources = await kubectl('api-resources', '--verbs=list', '-o', 'name');
  for (const name of ['events', 'events.events.k8s.io', 'leases.coordination.k8s.io', 'pods'])
    assert.ok(resources.split('\n').includes(name), name);
});

test('pages, orders and explain are as with one cluster; what is ambiguous is said', async () => {
  const whole = await kubectl('get', 'clusterroles', '-o', 'name');
  assert.equal(await kubectl('get', 'clusterroles', '-o', 'name', '--chunk-size=7'), whole);
  const sorted = await kubectl(
    'get',
    'configmaps',
    '-A',
    '--sort-by=.metadata.uid',
    '-o',
    'custom-columns=UID:.metadata.uid',
    '--no-headers',
  );
  assert.deepEqual(sorted.trimEnd().split('\n'), lines(sorted));
  assert.equal(
    await kubectl('explain', 'pods.spec.containers.image'),
    await direct(plane.member('m1'), 'explain', 'pods.spec.containers.image'),
  );
  assert.match(await kubectl('explain', 'things'), /KIND:\s+Thing/);
  await assert.rejects(kubectl('get', 'pod', 'web', '-n', 'team-a'), /is in more than one cluster: m1, m2/);
  await assert.rejects(kubectl('delete', 'pod', 'web', '-n', 'team-a'), /can be read only/);
  // The other version of a type whose conversion is None is the same object.
  const beta = await kubectl('get', 'things.v1beta1.corpus.example.org', '-n', 'team-a', '-o', 'json');
  const { items } = JSON.parse(beta) as { readonly items: readonly { readonly apiVersion: string }[] };
  assert.equal(items.length, 14);
  assert.ok(items.every(({ apiVersion }) => apiVersion === 'corpus.example.org/v1beta1'));
});

test('kubectl goes on behind pages that ended early and are empty, and tells why once', async () => {
  // So many paths through lists that a page looks into few objects.
  const conditions = [
    "aggregationRule.clusterRoleSelectors[].matchLabels['rbac.authorization.k8s.io/aggregate-to-view']=true",
    ...Array.from({ length: 200 }, (_, i) => `rules[].x${i}[].y!=v`),
  ];
  const args = ['get', 'clusterroles', '--field-selector', conditions.join(','), '--chunk-size=5'];
  const { stdout, stderr } = await outputs(...args);
  assert.deepEqual(
    stdout
      .trimEnd()
      .split('\n')
      .map((line) => line.split(/\s+/).slice(0, 2).join(' ')),
    ['CLUSTER NAME', 'm1 view', 'm2 view'],
  );
  assert.equal(stderr.match(/a page ended early/g)?.length, 1, stderr);
});

test('explain knows a group as the member with most of its types does, and warns of a type that only the other has', async () => {
  const text = (description: string): object => ({ type: 'string', description });
  const definition = (name: string, spec: object): object =>
    customResource(`${name}s.union.example.org`, name[0]!.toUpperCase() + name.slice(1), {
      schema: { type: 'object', properties: { spec: { type: 'object', properties: spec } } },
    });
  const [m1, m2] = [plane.member('m1'), plane.member('m2')];
  await m1.apply(definition('left', { port: text('Side of a ship') }), definition('ship', { mast: text('One mast') }));
  await m2.apply(
    definition('sloop', {}),
    definition('right', { starboard: text('Other side of a ship') }),
    definition('ship', { mast: text('Two masts'), sail: text('Canvas') }),
  );
  const says = async (asked: string, pattern: RegExp): Promise<void> =>
    void (await eventually(
      `explain ${asked} says ${pattern}`,
      async () => pattern.test(await kubectl('explain', asked).catch(String)),
      { timeoutMs: 60_000 },
    ));
  await says('rights.spec.starboard', /KIND:\s+Right\n[^]*Other side of a ship/);
  await says('ships.spec.sail', /KIND:\s+Ship\n[^]*Canvas/);
  assert.match(await kubectl('explain', 'ships.spec.mast'), /Two masts/);
  await says('lefts', /Warning: cluster m1: has types that .* of cluster m2 lacks; .* for lefts\n/);
  // What that member itself says.
  for (const asked of ['rights.spec', 'ships.spec'])
    assert.equal(await kubectl('explain', asked), await direct(m2, 'explain', asked));
});

test('kubectl get -w tells what happens in either member', async () => {
  const watching = spawn(
    plane.binaries['kubectl']!,
    [
      '--kubeconfig',
      kubeconfig,
      '--context',
      'portcullis-all',
      ...['get', 'configmaps', '-n', 'team-a', '-w', '--output-watch-events'],
    ],
    { env: { PATH: process.env['PATH'], HOME: plane.dir }, stdio: ['ignore', 'pipe', 'pipe'] },
  );
  let output = '';
  watching.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  const until = (pattern: RegExp): Promise<unknown> => eventually(String(pattern), () => pattern.test(output));
  try {
    await until(/ADDED\s+m2\s+one/);
    const text = (name: string): object => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name, namespace: 'team-a' },
    });
    await plane.member('m1').apply(text('made-in-m1'));
    await until(/ADDED\s+m1\s+made-in-m1/);
    await plane.member('m2').apply({ ...text('made-in-m2'), data: { a: 'b' } });
    await until(/ADDED\s+m2\s+made-in-m2\s+1/);
    await plane.member('m1').request('DELETE', '/api/v1/namespaces/team-a/configmaps/made-in-m1');
    await until(/DELETED\s+m1\s+made-in-m1/);
  } finally {
    watching.kill('SIGKILL');
  }
});

test("one user's list is what that user may list in each member", async () => {
  const uids = async (path: string): Promise<string[]> => {
    const { body } = await ask(gateway, alice.token, 'GET', path);
    const { items } = JSON.parse(body.toString('utf8')) as {
      readonly items: readonly { readonly metadata: { readonly uid: string } }[];
    };
    return items.map(({ metadata }) => metadata.uid).toSorted();
  };
  for (const path of ['/api/v1/configmaps', '/api/v1/pods', '/api/v1/namespaces']) {
    const each = await Promise.all(plane.members.map(({ name }) => uids(`/clusters/${name}/proxy${path}`)));
    assert.deepEqual(await uids(proxy + path), each.flat().toSorted(), path);
  }
  const secrets = await ask(gateway, alice.token, 'GET', `${proxy}/api/v1/namespaces/default/secrets`);
  assert.deepEqual((JSON.parse(secrets.body.toString('utf8')) as { items: unknown }).items, []);
  assert.ok(readFileSync(kubeconfig, 'utf8').includes('portcullis-all'));
});
