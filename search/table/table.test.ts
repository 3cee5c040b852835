import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PrinterColumn } from '../../tables/printer-column.ts';
import type { TableRow } from '../../tables/rows.ts';
import type { TypeInfo } from '../../query/types.ts';
import { collectionTable, tableOf } from './table.ts';

const nowMs = Date.UTC(2024, 4, 1, 12);
const hourAgo = new Date(nowMs - 3_600_000).toISOString();

function typeInfo(
  group: string,
  resource: string,
  columns?: Readonly<Record<string, readonly PrinterColumn[]>>,
): TypeInfo {
  return {
    group,
    resource,
    version: 'v1',
    versions: ['v1'],
    kind: '',
    singular: '',
    shortNames: [],
    categories: [],
    namespaced: true,
    convertible: false,
    ...(columns === undefined ? {} : { printerColumns: columns }),
  };
}

function row(type: TypeInfo, object: unknown): TableRow {
  const json = typeof object === 'string' ? object : JSON.stringify(object);
  return tableOf(type, 'v1', nowMs).row({ cluster: 'c1', raw: Buffer.from(json) });
}

const metadata = { name: 'x', creationTimestamp: hourAgo };
const pod = (status: object, spec: object = { containers: [{}, {}] }, meta: object = {}): readonly unknown[] =>
  row(typeInfo('', 'pods'), { metadata: { ...metadata, ...meta }, spec, status }).cells.slice(1, 6);

test('the cluster is the first column of every table, a text (CP-141)', () => {
  for (const type of [typeInfo('', 'pods'), typeInfo('x.io', 'things'), typeInfo('x.io', 'things', {})]) {
    const [first, second] = tableOf(type, 'v1', nowMs).columns;
    assert.deepEqual([first!.name, first!.type, first!.priority, second!.name], ['Cluster', 'string', 0, 'Name']);
  }
  const cells = tableOf(typeInfo('', 'pods'), 'v1', nowMs).row({ cluster: '', raw: Buffer.from('{}') }).cells;
  assert.equal(cells[0], '', 'no cluster is an empty cell');
});

test('the state of a pod is found from its phase, containers, conditions and deletion', () => {
  const running = { ready: true, restartCount: 0, state: { running: {} } };
  const ended = (exitCode: number, reason?: string, signal?: number): object => ({
    state: { terminated: { exitCode, reason, signal } },
  });
  assert.deepEqual(pod({ phase: 'Running', containerStatuses: [running, running] }), [
    'x',
    '2/2',
    'Running',
    '0',
    '60m',
  ]);
  assert.deepEqual(pod({ phase: 'Pending' }).slice(1, 3), ['0/2', 'Pending']);
  assert.deepEqual(pod({ phase: 'Failed', reason: 'Evicted' })[2], 'Evicted');
  const crash = {
    restartCount: 3,
    state: { waiting: { reason: 'CrashLoopBackOff' } },
    lastState: { terminated: { finishedAt: new Date(nowMs - 90_000).toISOString() } },
  };
  assert.deepEqual(pod({ phase: 'Running', containerStatuses: [crash, running] }), [
    'x',
    '1/2',
    'CrashLoopBackOff',
    '3 (90s ago)',
    '60m',
  ]);
  const waiting = (reason: string): object => ({ state: { waiting: { reason } } });
  assert.equal(pod({ containerStatuses: [waiting('First'), waiting('Second')] })[2], 'First');
  assert.equal(pod({ containerStatuses: [ended(1), ended(0, 'Completed')] })[2], 'ExitCode:1');
  assert.equal(pod({ containerStatuses: [ended(0, 'Completed'), ended(2, 'Error')] })[2], 'Error');
  assert.equal(pod({ containerStatuses: [ended(137, '', 9)] })[2], 'Signal:9');
  assert.equal(pod({ containerStatuses: [ended(0, 'Completed'), running] })[2], 'NotReady');
  const ready = { conditions: [{ type: 'Ready', status: 'True' }] };
  assert.equal(pod({ ...ready, containerStatuses: [ended(0, 'Completed'), running] })[2], 'Running');
  assert.equal(pod({ conditions: [{ type: 'PodScheduled', reason: 'SchedulingGated' }] })[2], 'SchedulingGated');
  const deleted = { deletionTimestamp: hourAgo };
  assert.equal(pod({ phase: 'Running' }, {}, deleted)[2], 'Terminating');
  assert.equal(pod({ phase: 'Succeeded' }, {}, deleted)[2], 'Succeeded');
  assert.equal(pod({ reason: 'NodeLost' }, {}, deleted)[2], 'Unknown');
});

test('init containers are counted until one is not done, those that run on count as containers', () => {
  const spec = {
    containers: [{}],
    initContainers: [{ name: 'a' }, { name: 'b', restartPolicy: 'Always' }, { name: 'c' }],
  };
  const done = { name: 'a', restartCount: 2, state: { terminated: { exitCode: 0 } } };
  const sidecar = { name: 'b', restartCount: 1, started: true, ready: true, state: { running: {} } };
  assert.deepEqual(
    pod({ initContainerStatuses: [done, sidecar, { name: 'c', state: { running: {} } }] }, spec).slice(1, 4),
    ['1/2', 'Init:2/3', '3'],
  );
  assert.deepEqual(
    pod({ initContainerStatuses: [{ name: 'a', state: { terminated: { exitCode: 1 } } }] }, spec)[2],
    'Init:ExitCode:1',
  );
  assert.deepEqual(
    pod({ initContainerStatuses: [{ name: 'a', state: { waiting: { reason: 'ErrImagePull' } } }] }, spec)[2],
    'Init:ErrImagePull',
  );
  const all = {
    initContainerStatuses: [done, sidecar],
    containerStatuses: [{ ready: true, restartCount: 1, state: { running: {} } }],
  };
  assert.deepEqual(
    pod({ phase: 'Running', ...all }, spec).slice(1, 4),
    ['2/2', 'Running', '2'],
    'restarts of a done init container no longer count',
  );
});

test('a pod that has ended has a condition of its row', () => {
  const conditions = (phase: string): unknown =>
    row(typeInfo('', 'pods'), { metadata, status: { phase } }).conditions?.[0]?.reason;
  assert.deepEqual(['Running', 'Succeeded', 'Failed'].map(conditions), [undefined, 'Succeeded', 'Failed']);
});

test('a redacted secret keeps its count', () => {
  const annotations = { 'search.portcullis.io/data-count': '3' };
  assert.deepEqual(row(typeInfo('', 'secrets'), { metadata: { ...metadata, annotations }, type: 'Opaque' }).cells, [
    'c1',
    'x',
    'Opaque',
    3,
    '60m',
  ]);
  assert.equal(row(typeInfo('', 'secrets'), { metadata, data: { a: '', b: '' } }).cells[3], 2);
});

test('an object of any shape gives a row of as many cells', () => {
  const shapes = ['{', 'null', '[]', '1', '{"metadata":null}', '{"metadata":{"name":"n"},"spec":null,"status":[]}'];
  const odd =
    '{"metadata":{"name":"n","labels":[1],"creationTimestamp":{}},"spec":{"containers":"x","ports":7,"rules":{}},"status":{"conditions":5}}';
  for (const resource of [
    'pods.',
    'services.',
    'nodes.',
    'events.',
    'jobs.batch',
    'ingresses.networking.k8s.io',
    'things.x',
  ])
    for (const json of [...shapes, odd]) {
      const [name, group] = [resource.slice(0, resource.indexOf('.')), resource.slice(resource.indexOf('.') + 1)];
      const type = typeInfo(group, name);
      assert.equal(row(type, json).cells.length, tableOf(type, 'v1', nowMs).columns.length, `${resource} ${json}`);
    }
});

function custom(jsonPath: string, type: string, object: object | string): unknown {
  const columns = [{ name: 'C', type, jsonPath }];
  return row(typeInfo('x.io', 'things', { v1: columns }), object).cells[2];
}

test('columns of a custom type show only values of their type', () => {
  const spec = { n: 3, f: 2.5, s: 'text', b: true, o: { b: 1, a: ['<'] }, z: null, t: hourAgo, d: 'soon' };
  const of = (path: string, type: string): unknown => custom(path, type, { metadata, spec });
  assert.deepEqual(
    ['integer', 'number', 'boolean', 'date', 'string'].map((type) => of('.spec.n', type)),
    [3, 3, null, null, '3'],
  );
  assert.deepEqual(
    ['integer', 'number', 'boolean', 'date', 'string'].map((type) => of('.spec.s', type)),
    [null, null, null, '<invalid>', 'text'],
  );
  assert.deepEqual(
    [of('.spec.f', 'integer'), of('.spec.f', 'string'), of('.spec.b', 'boolean'), of('.spec.b', 'string')],
    [2, '2.5', true, 'true'],
  );
  assert.deepEqual(
    [of('.spec.o', 'string'), of('.spec.z', 'string'), of('.spec.z', 'integer')],
    ['{"a":["\\u003c"],"b":1}', '<no value>', null],
  );
  assert.deepEqual(
    [of('.spec.t', 'date'), of('.spec.d', 'date'), of('.spec.gone', 'date'), of('.spec.gone', 'string')],
    ['60m', '<invalid>', null, null],
  );
  const exact = custom('.spec.n', 'integer', '{"spec":{"n":9007199254740993}}');
  assert.equal(JSON.stringify(exact), '9007199254740993');
  assert.equal(custom('.spec.n', 'string', '{"spec":{"n":9007199254740993,"x":1}}'), '9007199254740993');
  assert.equal(JSON.stringify(custom('.spec.n', 'integer', { spec: { n: 1e300 } })), '-9223372036854775808');
  assert.deepEqual(
    [1e300, -0.000012, 1234567.25, 0.5].map((n) => custom('.spec.n', 'string', { spec: { n } })),
    ['1e+300', '-1.2e-05', '1.23456725e+06', '0.5'],
  );
  assert.equal(custom('.spec.o', 'string', '{"spec":{"o":{"10":1,"9":2,"a":3}}}'), '{"10":1,"9":2,"a":3}');
});

test('paths of custom columns: names with dots, indexes, slices, filters, everything below', () => {
  const spec = {
    'a.b': 1,
    list: [
      { type: 'A', n: 1 },
      { type: 'B', n: 2, s: 'x)' },
      { type: 'C', n: 3 },
    ],
    names: ['x', 'y', 'z'],
  };
  const of = (path: string): unknown => custom(path, 'string', { metadata, spec });
  assert.equal(of('.spec.a\\.b'), '1');
  assert.equal(of(".spec['list'][1].n"), '2');
  assert.equal(of('.spec.names[-1]'), 'z');
  assert.equal(of('.spec.names[1:]'), 'y');
  assert.equal(of('.spec.names'), '["x","y","z"]');
  assert.equal(of('.spec.names[5]'), null);
  assert.equal(of('.spec.list[?(@.type=="B")].n'), '2');
  assert.equal(of(".spec.list[?(@.type=='B')].n"), '2');
  assert.equal(of('.spec.list[?(@.s == "x)")].n'), '2');
  assert.equal(of('.spec.list[?(@.n>=3)].type'), 'C');
  assert.equal(of('.spec.list[?(@.n!="1")].type'), null, 'a number and a text do not compare');
  assert.equal(of('.spec.list[?(@.s)].type'), 'B');
  assert.equal(of('.spec.list[?(@.type=="D")].n'), null);
  assert.equal(of('.spec.list[*].n'), '1');
  assert.equal(of('.spec.list[2,0].n'), '3');
  assert.equal(of('.spec.list.n'), null);
  assert.equal(of('.spec..s'), 'x)');
  assert.equal(of('.spec.toString'), null);
});

test('a custom type without columns shows its age, an unknown one when it was created', () => {
  const names = (type: TypeInfo): unknown => tableOf(type, 'v1', nowMs).columns.map(({ name }) => name);
  assert.deepEqual(names(typeInfo('x.io', 'things', { v1: [] })), ['Cluster', 'Name', 'Age']);
  assert.deepEqual(names(typeInfo('x.io', 'things', { v2: [{ name: 'C', type: 'string', jsonPath: '.a' }] })), [
    'Cluster',
    'Name',
    'Age',
  ]);
  assert.deepEqual(names(typeInfo('x.io', 'things')), ['Cluster', 'Name', 'Created At']);
  assert.deepEqual(row(typeInfo('', 'limitranges'), { metadata }).cells, ['c1', 'x', hourAgo]);
  const broken = [
    { name: 'A', type: 'string', jsonPath: '.a' },
    { name: 'B', type: 'string', jsonPath: '.b[' },
    { name: 'C', type: 'string', jsonPath: '.c' },
  ];
  assert.deepEqual(names(typeInfo('x.io', 'things', { v1: broken })), ['Cluster', 'Name', 'A']);
});

test('a collection shows what each object is', () => {
  const raw = Buffer.from(
    JSON.stringify({ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { ...metadata, namespace: 'ns' } }),
  );
  assert.deepEqual(collectionTable(nowMs).row({ cluster: 'c1', raw }).cells, [
    'c1',
    'apps',
    'v1',
    'Deployment',
    'ns',
    'x',
    '60m',
  ]);
  const core = Buffer.from(JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata }));
  assert.deepEqual(collectionTable(nowMs).row({ cluster: 'c1', raw: core }).cells.slice(1, 4), ['', 'v1', 'Pod']);
});
