import assert from 'node:assert/strict';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { after, before, beforeEach, describe, test } from 'node:test';
import { historyAnnotation, withRevision } from '../../lib/work-history.ts';
import { connectionFromFlags } from '../connection/connection.ts';
import type { Connection } from '../connection/gateway-connection.ts';
import { Failure } from '../terminal/failure.ts';
import { makeFolder, recordingTerminal, startStub } from '../stub-gateway.fixture.ts';
import type { StubGateway } from '../stub-gateway.fixture.ts';
import { hubWorks, readWorkName, type HubWorks } from './hub-works.ts';
import { diffWork, type DiffFlags } from './works-diff.ts';
import { showHistory, type HistoryFlags } from './works-history.ts';
import { listWorks, type ListFlags } from './works-list.ts';
import { rollBack, type RollbackFlags } from './works-rollback.ts';
import { makeTestAuthority } from '../../test/pretend/certificates.ts';
import { sendJson, sendStatus } from '../../test/pretend/server.ts';

// oxlint-disable-next-line typescript/no-explicit-any -- objects of API servers, whose shape the tests state
type Json = any;

const group = '/apis/work.open-cluster-management.io/v1';
const name = { cluster: 'm1', name: 'hello' };
const configMap = (data: object, named = 'hello'): Json => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: named, namespace: 'ns1' },
  data,
});
const secret = (password: string): Json => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 'key', namespace: 'ns1' },
  stringData: { password },
});
const specOf = (...manifests: Json[]): Json => ({ workload: { manifests } });
const condition = (type: string, status: string, message = '', observedGeneration = 1): Json => ({
  type,
  status,
  reason: 'R',
  message,
  observedGeneration,
});
const work = (named: string, conditions: Json[], more: Json = {}): Json => ({
  metadata: {
    name: named,
    namespace: 'm1',
    generation: 1,
    resourceVersion: '5',
    creationTimestamp: '2026-06-01T11:00:00Z',
    ...more.metadata,
  },
  spec: more.spec ?? specOf(configMap({ a: '1' })),
  status: { conditions, ...more.status },
});
const applied = condition('Applied', 'True');
const available = condition('Available', 'True');

describe('portcullis works', () => {
  let stub: StubGateway;
  const folder = makeFolder();
  let connection: Connection;
  let hub: HubWorks;
  let answer: (request: IncomingMessage, response: ServerResponse, body: string) => void;

  before(async () => {
    const authority = await makeTestAuthority();
    stub = await startStub(authority);
    const certificateAuthority = folder.write('ca.crt', authority.ca);
    connection = connectionFromFlags(
      { server: stub.url, token: 'good-token', certificateAuthority },
      recordingTerminal(),
    );
    hub = hubWorks(connection);
  });
  beforeEach(() => {
    stub.requests.length = 0;
    stub.answers.override = async (request, response) => answer(request, response, await text(request));
  });
  after(async () => {
    await stub.close();
  });

  const list = async (items: Json[], flags: Partial<ListFlags> = {}) => {
    answer = (_, response) => sendJson(response, 200, { items });
    const terminal = recordingTerminal();
    await listWorks(hub, { output: 'table', ...flags }, terminal);
    return terminal;
  };

  test('each work is one line of at most 80 columns with its state and what is the matter', async () => {
    const failing = {
      status: {
        resourceStatus: {
          manifests: [
            { resourceMeta: { kind: 'ConfigMap', name: 'ok' }, conditions: [applied] },
            {
              resourceMeta: { kind: 'Secret', name: 'key' },
              conditions: [
                condition('Applied', 'False', 'Failed to apply manifest: no right\nto do it, sorry for that'),
              ],
            },
          ],
        },
      },
    };
    const terminal = await list([
      work('ready', [applied, available, condition('Progressing', 'False')]),
      work('old', [applied, available], { metadata: { generation: 2 } }),
      work('failed', [condition('Applied', 'False', 'Failed to apply manifest work')], failing),
      work('gone', [applied, condition('Available', 'False', '1 of 1 resources are not available')]),
      work('rolling', [applied, available, condition('Progressing', 'True', 'Deployment/web: 1 of 3 are updated')]),
      work('broken', [applied, available, condition('Degraded', 'True', 'crash'), condition('Progressing', 'True')]),
      work('done', [applied, available, condition('Complete', 'True')]),
      work('cut-off', [condition('gateway.portcullis.io/Reached', 'False', 'm1 does not answer')]),
      work('ending', [applied], { metadata: { deletionTimestamp: '2026-06-01T11:30:00Z' } }),
      work('held', [applied, available, condition('gateway.portcullis.io/PruneHeld', 'True', '5 are kept')]),
    ]);
    assert.equal(
      terminal.printed(),
      `CLUSTER   NAME      STATE          AGE   MESSAGE
m1        broken    Degraded       60m   crash
m1        cut-off   Blocked        60m   m1 does not answer
m1        done      Complete       60m   
m1        ending    Deleting       60m   objects of the work are being deleted
m1        failed    Failed         60m   Secret/key: no right to do it, sorry f…
m1        gone      NotAvailable   60m   1 of 1 resources are not available
m1        held      Ready          60m   5 are kept
m1        old       Waiting        60m   the present spec was not executed yet
m1        ready     Ready          60m   
m1        rolling   Progressing    60m   Deployment/web: 1 of 3 are updated
`,
    );
    for (const line of terminal.printed().split('\n')) assert.ok(line.length <= 80, line);
  });

  test('the wide table and JSON tell each condition, and a list is read page by page', async () => {
    const items = [work('ready', [applied, available, condition('Degraded', 'False')])];
    assert.match(
      (await list(items, { output: 'wide' })).printed(),
      /^m1 +ready +Ready +True +True +Unknown +False +60m/m,
    );
    const [first] = JSON.parse((await list(items, { output: 'json' })).printed()).items;
    assert.deepEqual(
      [first.state, first.applied, first.progressing, first.degraded],
      ['Ready', 'True', 'Unknown', 'False'],
    );
    answer = (request, response) => {
      const isFirst = request.url?.includes('continue=') === false;
      sendJson(response, 200, {
        metadata: isFirst ? { continue: 'a b' } : {},
        items: [work(isFirst ? 'w1' : 'w2', [applied, available])],
      });
    };
    const terminal = recordingTerminal();
    await listWorks(hub, { output: 'table', clusters: 'm1' }, terminal);
    assert.match(terminal.printed(), /w1[^]*w2/);
    assert.equal(stub.requests.at(-1)!.line, `GET ${group}/namespaces/m1/manifestworks?limit=500&continue=a%20b`);
  });

  test('a hub that refuses, or is none, is told with what to do next', async () => {
    const refused = async (status: number, message: string): Promise<Failure> => {
      answer = (_, response) => sendStatus(response, status, '', message);
      const error: unknown = await listWorks(hub, { output: 'table' }, recordingTerminal()).catch(
        (fault: unknown) => fault,
      );
      assert.ok(error instanceof Failure);
      return error;
    };
    assert.match((await refused(403, 'manifestworks is forbidden')).nextStep, /--clusters m1,m2/);
    assert.match((await refused(404, 'the server could not find the requested resource')).nextStep, /--kubeconfig/);
    for (const text of ['hello', 'a/b/c', '/x', 'm1/', 'm1/../x'])
      assert.throws(() => readWorkName(text), /does not name a work/, text);
  });

  /** A work whose history has these specs as generations 1, 2 and so on; the last one is the present one. */
  async function withHistory(...specs: Json[]): Promise<Json> {
    let annotations: Record<string, string> = {};
    for (const [index, spec] of specs.entries()) {
      const revision = { revision: index + 1, time: '2026-06-01T11:59:00Z', spec };
      annotations = { [historyAnnotation]: await withRevision(annotations, revision, 10) };
    }
    return work('hello', [applied], { metadata: { generation: specs.length, annotations }, spec: specs.at(-1) });
  }
  const history = async (present: Json, flags: Partial<HistoryFlags> = {}): Promise<string> => {
    answer = (_, response) => sendJson(response, 200, present);
    const terminal = recordingTerminal();
    await showHistory(hub, name, { output: 'table', ...flags }, terminal);
    return terminal.printed();
  };

  test('the history tells each executed spec and what it changed, and prints one without the values of Secrets', async () => {
    const present = await withHistory(
      specOf(configMap({ a: '1' }), secret('hush-hush')),
      specOf(configMap({ a: '2' }), configMap({}, 'new')),
    );
    assert.equal(
      await history(present),
      `REVISION   EXECUTED   MANIFESTS   CHANGE
1          60s ago    2           
2 *        60s ago    2           1 added, 1 changed, 1 removed
`,
    );
    const printed = await history(present, { revision: 1 });
    assert.match(printed, /password: "?\*\*\*/);
    assert.doesNotMatch(printed, /hush/);
    for (const flags of [{}, { revision: 1 }]) {
      const { items } = JSON.parse(await history(present, { ...flags, output: 'json' })) as {
        items: readonly object[];
      };
      assert.match(JSON.stringify(items), /\*\*\*/);
      assert.doesNotMatch(JSON.stringify(items), /hush|aHVzaA/);
    }
    await assert.rejects(history(present, { revision: 7 }), /has no revision 7/);
    await assert.rejects(history(work('hello', [])), /has no history/);
    const broken = work('hello', [], { metadata: { annotations: { [historyAnnotation]: '1.zzz' } } });
    await assert.rejects(history(broken), /cannot be read/);
  });

  /** Rolls back on a hub with this work. @returns what was printed, and the bodies of writes */
  const roll = async (present: Json, flags: Partial<RollbackFlags> = {}, writes: readonly number[] = [200]) => {
    const bodies: Json[] = [];
    answer = (request, response, body) => {
      if (request.method === 'GET') return sendJson(response, 200, present);
      bodies.push(JSON.parse(body));
      const status = writes[bodies.length - 1] ?? 200;
      if (status !== 200) return sendStatus(response, status, '', 'no');
      const generation = present.metadata.generation + 1;
      return sendJson(response, 200, { ...present, metadata: { ...present.metadata, generation } });
    };
    const terminal = recordingTerminal();
    await rollBack(hub, name, { output: 'table', ...flags }, terminal);
    return { text: terminal.printed(), note: terminal.noted(), bodies };
  };

  test('a rollback writes the last other spec, or the one that is asked for, and only to the version it has read', async () => {
    const [one, two, three] = ['1', '2', '3'].map((a) => specOf(configMap({ a })));
    const present = await withHistory(one, two, three);
    const { text, bodies } = await roll(present);
    assert.equal(text, 'm1/hello has the spec of revision 2 now, as generation 4\n');
    assert.deepEqual(bodies, [
      [
        { op: 'replace', path: '/metadata/resourceVersion', value: '5' },
        { op: 'replace', path: '/spec', value: two },
      ],
    ]);
    assert.deepEqual((await roll(present, { to: 1 })).bodies[0][1].value, one);
    const same = await roll(present, { to: 3 });
    assert.deepEqual([same.text, same.bodies], ['m1/hello has the spec of revision 3 already\n', []]);
    // The executor's own writes make new versions; they do not hinder.
    assert.equal((await roll(present, {}, [409, 409])).bodies.length, 3);
    await assert.rejects(roll(present, {}, [403]), /does not let you change the ManifestWork m1\/hello/);
  });

  test('a dry run asks the hub, prints what changes without values of Secrets, and writes nothing', async () => {
    const present = await withHistory(specOf(configMap({ a: '1' }), secret('old-one')), specOf(configMap({ a: '2' })));
    const { text, note } = await roll(present, { dryRun: true });
    assert.match(text, /-  a: "2"\n\+  a: "1"/);
    assert.match(text, /secret\/ns1\/key/);
    assert.doesNotMatch(text, /old-one/);
    assert.match(note, /dry run/);
    assert.match(stub.requests.at(-1)!.line, /dryRun=All/);
  });

  test('a work of a set, and one without an earlier spec, are not rolled back', async () => {
    const present = await withHistory(specOf(configMap({ a: '1' })), specOf(configMap({ a: '2' })));
    const labels = { 'work.open-cluster-management.io/manifestworkreplicaset': 'ns.set' };
    const ofSet = { ...present, metadata: { ...present.metadata, labels } };
    await assert.rejects(roll(ofSet), /belongs to the ManifestWorkReplicaSet ns\/set/);
    await assert.rejects(roll(await withHistory(specOf(configMap({ a: '1' })))), /has no earlier spec/);
  });

  const discovery = (groupName: string, kinds: readonly [string, string][]): Json => ({
    kind: 'APIGroupDiscoveryList',
    items: [
      {
        metadata: { name: groupName },
        versions: [
          {
            version: 'v1',
            resources: kinds.map(([kind, resource]) => ({
              resource,
              responseKind: { kind },
              scope: kind === 'Namespace' ? 'Cluster' : 'Namespaced',
              verbs: ['get'],
            })),
          },
        ],
      },
    ],
  });

  test('a diff follows the strategy of each manifest, by dry runs as the caller, and tells what leaves', async () => {
    const entry = (named: string, updateStrategy: object): Json => ({
      resourceIdentifier: { group: '', resource: 'configmaps', namespace: 'ns1', name: named },
      updateStrategy,
    });
    const spec = {
      ...specOf(
        ...['updated', 'new', 'once', 'seen', 'server'].map((named) => configMap({ a: '2' }, named)),
        configMap({ a: '2' }, 'refused'),
        { ...configMap({}, 'inside'), metadata: { name: 'inside', namespace: 'made' } },
        { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'made' } },
      ),
      manifestConfigs: [
        entry('once', { type: 'CreateOnly' }),
        entry('see*', { type: 'ReadOnly' }),
        entry('server', { type: 'ServerSideApply', serverSideApply: { force: true, fieldManager: 'work-agent-x' } }),
      ],
    };
    const gone = { resourceMeta: { group: '', version: 'v1', kind: 'ConfigMap', name: 'gone', namespace: 'ns1' } };
    const present = work('hello', [applied], { spec, status: { resourceStatus: { manifests: [gone] } } });
    const owner = {
      apiVersion: 'work.open-cluster-management.io/v1',
      kind: 'AppliedManifestWork',
      name: 'x',
      uid: 'u',
    };
    answer = (request, response, body) => {
      const { method, url = '' } = request;
      const path = url.replace(/^\/clusters\/m1\/proxy/, '');
      if (path === url) return sendJson(response, 200, present);
      if (path === '/api')
        return sendJson(
          response,
          200,
          discovery('', [
            ['ConfigMap', 'configmaps'],
            ['Namespace', 'namespaces'],
          ]),
        );
      if (path === '/apis') return sendJson(response, 200, { kind: 'APIGroupDiscoveryList', items: [] });
      const named = /(?:configmaps|namespaces)\/([a-z]+)(\?|$)/.exec(path)?.[1] ?? '';
      if (method !== 'GET') {
        if (named === 'refused') return sendStatus(response, 403, 'Forbidden', 'not you');
        if (path.includes('/namespaces/made/')) return sendStatus(response, 404, 'NotFound', 'no namespace made');
        return sendJson(response, method === 'POST' ? 201 : 200, JSON.parse(body));
      }
      if (['new', 'made', 'inside'].includes(named)) return sendStatus(response, 404, 'NotFound', 'none');
      const live = configMap({ a: '1' }, named);
      const metadata = {
        ...live.metadata,
        resourceVersion: '9',
        ...(named === 'gone' && { ownerReferences: [owner] }),
      };
      return sendJson(response, 200, { ...live, metadata });
    };
    const terminal = recordingTerminal();
    const flags: DiffFlags = { output: 'json' };
    await assert.rejects(
      diffWork({ hub, gateway: connection }, name, flags, terminal),
      /cluster m1 does not say what would change in 1 objects/,
    );
    const { items } = JSON.parse(terminal.printed());
    assert.deepEqual(
      items.map(({ object, change }: Json) => `${object} ${change}`),
      [
        'configmap/ns1/updated changed',
        'configmap/ns1/new created',
        'configmap/ns1/once none',
        'configmap/ns1/seen none',
        'configmap/ns1/server changed',
        'configmap/ns1/refused unknown',
        'configmap/made/inside created',
        'namespace/made created',
        'configmap/ns1/gone deleted',
      ],
    );
    assert.match(terminal.noted(), /m1: configmap\/ns1\/refused: not you \(403\)/);
    const writes = stub.requests.map(({ line }) => line).filter((line) => !line.startsWith('GET'));
    assert.ok(
      writes.every((line) => line.includes('dryRun=All')),
      writes.join('\n'),
    );
    assert.ok(writes.some((line) => /^PATCH .*fieldManager=work-agent-x&force=true/.test(line)));
  });
});
