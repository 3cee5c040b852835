// The gateway's own API on the wire: clusters (get, list, watch, Table, selectors, errors), discovery, version, OpenAPI
// and health.
import assert from 'node:assert/strict';
import type { ClientHttp2Session } from 'node:http2';
import { after, before, test } from 'node:test';
import { http2Answer, http2Exchange, http2Headers, openHttp2, openStream } from '../site/http2-client.ts';
import { exchange, openRaw, requestBytes } from '../site/raw-client.ts';
import type { RawAnswer } from '../site/raw-client.ts';
import { kubeconfigText, startSite } from '../site/site.ts';
import { waitFor } from '../site/polling.ts';
import type { Context, Site } from '../site/site.ts';

const alice = 'Authorization: Bearer alice-token';
const bob = 'Authorization: Bearer bob-token';
const api = '/apis/gateway.portcullis.io/v1alpha1/clusters';
const asTable = 'Accept: application/json;as=Table;v=v1;g=meta.k8s.io,application/json';
let site: Site;
let session: ClientHttp2Session;

before(async () => {
  site = await startSite({
    members: 2,
    users: [
      { token: 'alice-token', name: 'alice' },
      { token: 'bob-token', name: 'bob' },
    ],
    rules: [
      {
        subjects: [{ kind: 'User', name: 'alice' }],
        verbs: ['*'],
        apiGroups: ['*'],
        resources: ['*'],
        nonResourceURLs: ['*'],
      },
    ],
    contexts: ([first]): Context[] => [
      { ...first!, name: 'Prod EU/1', labels: { env: 'prod', tier: 'a' } },
      { ...first!, name: 'down', server: 'https://127.0.0.1:1', labels: { env: 'test' } },
    ],
  });
  session = await openHttp2(site);
  await waitFor(async () => {
    const { items } = await list();
    return items.every(({ status }) => status.conditions.length > 0);
  });
});
after(() => {
  session.destroy();
  site.close();
});

interface Cluster {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly uid: string; readonly resourceVersion: string };
  readonly spec: Readonly<Record<string, unknown>>;
  readonly status: {
    readonly identity: string;
    readonly version?: { readonly kubernetes: string };
    readonly conditions: readonly { readonly type: string; readonly status: string; readonly reason: string }[];
  };
}
interface ClusterList {
  readonly kind: string;
  readonly metadata: { readonly resourceVersion: string };
  readonly items: readonly Cluster[];
}
interface WatchEvent {
  readonly type: string;
  readonly object: Cluster & { readonly metadata: { readonly annotations?: Readonly<Record<string, string>> } };
}

const ask = (path: string, headers: readonly string[] = [alice], method = 'GET'): Promise<RawAnswer> =>
  exchange(site, requestBytes(`${method} ${path}`, headers));

async function list(query = ''): Promise<ClusterList> {
  const answer = await ask(api + query);
  assert.equal(answer.status, 200, answer.body);
  return JSON.parse(answer.body) as ClusterList;
}

const names = ({ items }: ClusterList): string[] => items.map(({ metadata }) => metadata.name);

test('list and get tell names, sources, versions and conditions', async () => {
  const found = await list();
  assert.equal(found.kind, 'ClusterList');
  assert.deepEqual(names(found), ['down', 'm1', 'm2', 'prod-eu-1']);
  const one = JSON.parse((await ask(`${api}/prod-eu-1`)).body) as Cluster;
  assert.deepEqual(one, found.items[3]);
  assert.equal(one.spec['originalName'], 'Prod EU/1');
  assert.equal(one.status.version?.kubernetes, 'v1.36.1');
  assert.equal(one.status.identity, 'impersonate');
  const available = (cluster: Cluster): string =>
    cluster.status.conditions
      .filter(({ type }) => type === 'Available')
      .map(({ status, reason }) => `${status} ${reason}`)
      .join();
  assert.deepEqual(found.items.map(available), [
    'False ConnectionRefused',
    'True Answering',
    'True Answering',
    'True Answering',
  ]);
  const overHttp2 = await http2Exchange(
    session,
    http2Headers('GET', `${api}/m1`, ['authorization', 'Bearer alice-token']),
  );
  assert.deepEqual(JSON.parse(overHttp2.body), found.items[1]);
});

test('selectors choose, and a selector that cannot be read is 400', async () => {
  for (const [query, expected] of [
    ['?labelSelector=env%3Dprod', ['prod-eu-1']],
    ['?labelSelector=env', ['down', 'prod-eu-1']],
    ['?labelSelector=!env', ['m1', 'm2']],
    ['?labelSelector=env!%3Dprod', ['down', 'm1', 'm2']],
    ['?labelSelector=env+in+(prod,test),tier', ['prod-eu-1']],
    ['?labelSelector=env+notin+(prod)', ['down', 'm1', 'm2']],
    ['?fieldSelector=metadata.name%3Dm1', ['m1']],
    ['?fieldSelector=metadata.name!%3Dm1', ['down', 'm2', 'prod-eu-1']],
    ['?labelSelector=constructor', []],
  ] as const) {
    assert.deepEqual(names(await list(query)), expected, query);
  }
  for (const query of [
    '?labelSelector=a%3D%3D%3Db',
    '?labelSelector=__proto__',
    '?labelSelector=(',
    '?fieldSelector=spec.server%3Dx',
  ]) {
    assert.equal((await ask(api + query)).status, 400, query);
  }
});

test('Table and metadata forms', async () => {
  for (const path of [api, `${api}/m1`]) {
    const table = JSON.parse((await ask(path, [alice, asTable])).body) as {
      kind: string;
      columnDefinitions: { name: string; priority: number }[];
      rows: { cells: string[]; object: { kind: string } }[];
    };
    assert.equal(table.kind, 'Table');
    const columns = table.columnDefinitions.filter(({ priority }) => priority === 0).map(({ name }) => name);
    assert.deepEqual(columns, ['Name', 'Available', 'Version', 'Source', 'Identity', 'Latency', 'Index', 'Age']);
    const row = table.rows.find(({ cells }) => cells[0] === 'm1')!;
    assert.deepEqual(row.cells.slice(0, 5), ['m1', 'True', 'v1.36.1', 'kubeconfig', 'impersonate']);
    assert.equal(row.cells.length, table.columnDefinitions.length);
    assert.equal(row.object.kind, 'PartialObjectMetadata');
  }
  const whole = (await ask(`${api}?includeObject=Object`, [alice, asTable])).body;
  assert.equal((JSON.parse(whole) as { rows: { object: { kind: string } }[] }).rows[0]!.object.kind, 'Cluster');
  const partial = 'Accept: application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1';
  assert.equal((JSON.parse((await ask(api, [alice, partial])).body) as ClusterList).kind, 'PartialObjectMetadataList');
});

test('what cannot be done is told with the right code', async () => {
  for (const [line, headers, status] of [
    [`GET ${api}/nobody`, [], 404],
    [`POST ${api}`, [], 405],
    [`PUT ${api}/m1`, [], 405],
    [`PATCH ${api}/m1`, [], 405],
    [`DELETE ${api}/m1`, [], 405],
    [`DELETE ${api}`, [], 405],
    [`HEAD ${api}?watch=true`, [], 405],
    [`POST /version`, [], 405],
    [`GET ${api}`, ['Accept: application/vnd.kubernetes.protobuf'], 406],
    [`GET ${api}?watch=true`, ['Accept: application/vnd.kubernetes.protobuf;stream=watch'], 406],
    [`GET ${api}`, ['Accept: application/yaml'], 406],
    [`GET ${api}?watch=true&resourceVersion=1`, [], 410],
    [`GET ${api}?watch=true&resourceVersion=99999999999999999999`, [], 410],
    [`GET ${api}?watch=true&resourceVersion=abc`, [], 400],
    [`GET ${api}?watch=true&sendInitialEvents=true`, [], 422],
    [`GET ${api}?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan`, [], 422],
    [`GET ${api}/m1/status`, [], 200],
    [`PUT ${api}/m1/status`, [], 405],
    [`GET ${api}/m1/nothing`, [], 404],
    [`GET ${api}/m1/status/more`, [], 404],
    [`GET ${api}?continue=abc`, [], 410],
    [`GET ${api}?resourceVersion=99999999999999999999`, [], 410],
    [`GET ${api}?resourceVersion=1&resourceVersionMatch=Exact`, [], 410],
    [`GET ${api}?resourceVersion=1&resourceVersionMatch=NotOlderThan`, [], 200],
    [`GET ${api}?resourceVersion=abc`, [], 400],
    // Objects of the hub are served only with a hub.
    [`GET /apis/cluster.core.oam.dev`, [], 404],
    [`GET /apis/cluster.core.oam.dev/v1alpha1`, [], 404],
    [`GET /apis/cluster.core.oam.dev/v1alpha1/clustergateways`, [], 404],
    [`GET /apis/cluster.core.oam.dev/v1alpha1/clustergateways?watch=true`, [], 404],
    [`GET /apis/cluster.karmada.io`, [], 404],
    [`GET /apis/cluster.karmada.io/v1alpha1/clusters`, [], 404],
    [`GET /apis/gateway.portcullis.io/v2`, [], 404],
  ] as const) {
    const answer = await ask(line.slice(line.indexOf(' ') + 1), [alice, ...headers], line.slice(0, line.indexOf(' ')));
    assert.equal(answer.status, status, line);
    if (status !== 200 && !line.startsWith('HEAD')) {
      assert.equal((JSON.parse(answer.body) as { code: number }).code, status);
    }
  }
  assert.equal((await ask(`${api}/m1`, [alice], 'HEAD')).status, 200);
});

test('the rules decide about the clusters API as about anything; discovery is for everyone who is authenticated', async () => {
  for (const path of [api, `${api}/m1`, `${api}?watch=true`, '/readyz?verbose', '/readyz/ping'])
    assert.equal((await ask(path, [bob])).status, 403, path);
  for (const path of ['/api', '/apis', '/apis/gateway.portcullis.io', '/version', '/openapi/v3', '/']) {
    assert.equal((await ask(path, [bob])).status, 200, path);
    assert.equal((await ask(path, [])).status, 401, path);
  }
});

interface Watch {
  /** The next event that is no MODIFIED: the probe changes the status whenever it likes. */
  next(): Promise<WatchEvent>;
  close(): void;
}

/** Reads a watch of the clusters API event by event. */
async function watch(query: string): Promise<Watch> {
  const client = await openRaw(site);
  client.send(requestBytes(`GET ${api}?watch=true${query}`, [alice]));
  const head = await client.answer({ headOnly: true });
  assert.equal(head.status, 200);
  assert.deepEqual(head.values('content-type'), ['application/json']);
  let read = 0;
  const next = async (): Promise<WatchEvent> => {
    const pattern = new RegExp(`^(?:[^{]*\\{[^\\n]*\\n){${read + 1}}`);
    const text = await client.restMatches(pattern);
    const line = text.split('\n').filter((one) => one.startsWith('{'))[read]!;
    read += 1;
    const event = JSON.parse(line) as WatchEvent;
    return event.type === 'MODIFIED' ? next() : event;
  };
  return {
    next,
    close: () => client.close(),
  };
}

const text = (event: WatchEvent): string => `${event.type} ${event.object.metadata.name ?? ''}`;

test('a watch tells what there is, then what changes, and one that begins at a version tells only what came after', async () => {
  const all = await watch('');
  const seen = [await all.next(), await all.next(), await all.next(), await all.next()];
  assert.deepEqual(seen.map(text), ['ADDED down', 'ADDED m1', 'ADDED m2', 'ADDED prod-eu-1']);
  const { metadata } = await list();
  const [m1, m2, prod, down] = site.contexts;
  const selected = await watch('&labelSelector=env%3Dprod');
  assert.equal(text(await selected.next()), 'ADDED prod-eu-1');
  site.replace(site.files.kubeconfig, kubeconfigText([m1!, prod!, { ...down!, name: 'new', labels: { env: 'prod' } }]));
  const changes = [await all.next(), await all.next(), await all.next()].map(text);
  assert.deepEqual(changes.toSorted(), ['ADDED new', 'DELETED down', 'DELETED m2']);
  assert.equal(text(await selected.next()), 'ADDED new');
  const later = await watch(`&resourceVersion=${metadata.resourceVersion}`);
  assert.deepEqual([await later.next(), await later.next(), await later.next()].map(text), changes);
  // A label that goes takes the cluster out of the selection.
  site.replace(site.files.kubeconfig, kubeconfigText([m1!, { ...prod!, labels: { env: 'other' } }, m2!]));
  const left = [await selected.next(), await selected.next()].map(text);
  assert.deepEqual(left.toSorted(), ['DELETED new', 'DELETED prod-eu-1']);
  for (const one of [all, selected, later]) one.close();
  site.replace(site.files.kubeconfig, kubeconfigText(site.contexts));
  await waitFor(async () => names(await list()).length === 4);
});

test('WatchList: the initial events end with a bookmark that says so', async () => {
  const watched = await watch('&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true');
  for (let i = 0; i < 4; i++) assert.equal((await watched.next()).type, 'ADDED');
  const { type, object } = await watched.next();
  assert.equal(type, 'BOOKMARK');
  assert.equal(object.kind, 'Cluster');
  assert.equal(object.metadata.annotations?.['k8s.io/initial-events-end'], 'true');
  assert.ok(Number(object.metadata.resourceVersion) > 0);
  watched.close();
});

test('a watch ends after timeoutSeconds, cleanly, over both protocols; a very long one does not end at once', async () => {
  const path = `${api}?watch=true&timeoutSeconds=1`;
  const [one, two] = await Promise.all([
    ask(path),
    http2Exchange(session, http2Headers('GET', path, ['authorization', 'Bearer alice-token'])),
  ]);
  for (const answer of [one, two]) {
    assert.equal(answer.complete, true);
    assert.equal(answer.body.match(/"ADDED"/g)?.length, 4);
  }
  const list = http2Headers('GET', `${api}?watch=true&timeoutSeconds=9999999`, ['authorization', 'Bearer alice-token']);
  const long = openStream(session, list);
  const answer = http2Answer(long);
  await new Promise((resolve) => long.once('data', resolve));
  await ask(`${api}?watch=true&timeoutSeconds=1`);
  assert.equal(long.closed, false);
  long.destroy();
  await answer;
});

test('discovery in both forms, with an ETag that spares a second answer', async () => {
  const legacy = JSON.parse((await ask('/apis')).body) as { groups: { name: string }[] };
  assert.deepEqual(
    legacy.groups.map(({ name }) => name),
    ['gateway.portcullis.io', 'clusterpedia.io', 'search.portcullis.io', 'search.karmada.io'],
  );
  const accept = 'Accept: application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json';
  const aggregated = await ask('/apis', [alice, accept]);
  assert.equal((JSON.parse(aggregated.body) as { kind: string }).kind, 'APIGroupDiscoveryList');
  assert.match(aggregated.values('content-type')[0]!, /as=APIGroupDiscoveryList/);
  const again = await ask('/apis', [alice, accept, `If-None-Match: ${aggregated.values('etag')[0]}`]);
  assert.equal(again.status, 304);
  const resources = JSON.parse((await ask('/apis/gateway.portcullis.io/v1alpha1')).body) as {
    resources: { name: string }[];
  };
  assert.deepEqual(
    resources.resources.map(({ name }) => name),
    ['clusters', 'clusters/proxy', 'clusters/status', 'statistics'],
  );
  const index = JSON.parse((await ask('/openapi/v3')).body) as { paths: Record<string, { serverRelativeURL: string }> };
  for (const { serverRelativeURL } of Object.values(index.paths)) {
    const document = JSON.parse((await ask(serverRelativeURL)).body) as { openapi: string };
    assert.match(document.openapi, /^3\./);
  }
  const version = JSON.parse((await ask('/version')).body) as { gitVersion: string; major: string; minor: string };
  assert.match(version.gitVersion, /^v1\.36\.0\+portcullis-\d+\.\d+\.\d+$/);
  assert.deepEqual([version.major, version.minor], ['1', '36']);
});

test('health is open, its details are not, and a member that is down does not make the gateway unready', async () => {
  for (const check of ['livez', 'readyz', 'healthz']) {
    const open = await ask(`/${check}`, []);
    assert.deepEqual([open.status, open.body], [200, 'ok']);
    for (const path of [`/${check}?verbose`, `/${check}?verbose=1`, `/${check}/ping`, `/${check}?verbose=%ff`])
      assert.equal((await ask(path, [])).status, 401, path);
    const verbose = await ask(`/${check}?verbose`);
    assert.match(verbose.body, new RegExp(`\\[\\+\\]ping ok\n(.*\n)*${check} check passed`));
    assert.equal((await fetch(`${site.gateway.opsUrl}/${check}`)).status, 200);
  }
  assert.match((await ask('/readyz?verbose')).body, /clusters ok: 3 of 4 available/);
  assert.equal((await ask('/readyz/ping')).status, 200);
  assert.equal((await ask('/readyz/nothing')).status, 404);
});
