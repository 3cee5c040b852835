import assert from 'node:assert/strict';
import { test } from 'node:test';
import { labelsText, selectorCell } from './printers/cells.ts';
import { parsePrinterPath } from './printer-path.ts';
import { rowsOfType } from './rows.ts';

type JsonObject = Record<string, any>;

/** Cells of one object by name of the column, seen at the beginning of 1970. */
function cells(group: string, resource: string, object: JsonObject): JsonObject {
  const { columns, row } = rowsOfType(group, resource);
  const found = row({ metadata: { name: 'x' }, ...object }, 0).cells;
  return Object.fromEntries(columns.map(({ name }, i) => [name, found[i]]));
}

const podOf = (status: JsonObject, more: JsonObject = {}): JsonObject => ({
  metadata: { name: 'p', ...more['metadata'] },
  spec: { containers: [{ name: 'a' }, { name: 'b' }], ...more['spec'] },
  status,
});
const running = { ready: true, restartCount: 0, state: { running: {} } };
const ended = (exitCode: number, reason?: string): JsonObject => ({
  restartCount: 0,
  state: { terminated: { exitCode, ...(reason && { reason }) } },
});
const waiting = (reason: string): JsonObject => ({ restartCount: 0, state: { waiting: { reason } } });

/** name, pod, READY, STATUS, restarts (printers_test.go TestPrintPod). */
const pods: readonly (readonly [string, JsonObject, string, string, number])[] = [
  ['pending without statuses', podOf({ phase: 'Pending' }), '0/2', 'Pending', 0],
  [
    'all running',
    podOf({ phase: 'Running', containerStatuses: [running, { ...running, restartCount: 3 }] }),
    '2/2',
    'Running',
    3,
  ],
  [
    'one waiting',
    podOf({ phase: 'Running', containerStatuses: [running, waiting('CrashLoopBackOff')] }),
    '1/2',
    'CrashLoopBackOff',
    0,
  ],
  [
    'one ended with a code',
    podOf({ phase: 'Running', containerStatuses: [ended(137), running] }),
    '1/2',
    'ExitCode:137',
    0,
  ],
  [
    'completed while another runs, ready',
    podOf({
      phase: 'Running',
      conditions: [{ type: 'Ready', status: 'True' }],
      containerStatuses: [ended(0, 'Completed'), running],
    }),
    '1/2',
    'Running',
    0,
  ],
  [
    'completed while another runs, not ready',
    podOf({ phase: 'Running', containerStatuses: [ended(0, 'Completed'), running] }),
    '1/2',
    'NotReady',
    0,
  ],
  [
    'one failed, one completed',
    podOf({ phase: 'Failed', containerStatuses: [ended(0, 'Completed'), ended(1, 'Error')] }),
    '0/2',
    'Error',
    0,
  ],
  ['a reason of the pod', podOf({ phase: 'Failed', reason: 'Evicted' }), '0/2', 'Evicted', 0],
  [
    'going away',
    podOf({ phase: 'Running', containerStatuses: [running, running] }, { metadata: { deletionTimestamp: 'x' } }),
    '2/2',
    'Terminating',
    0,
  ],
  [
    'ended and going away',
    podOf({ phase: 'Succeeded', containerStatuses: [ended(0, 'Completed')] }, { metadata: { deletionTimestamp: 'x' } }),
    '0/2',
    'Completed',
    0,
  ],
  [
    'init waiting',
    podOf(
      { phase: 'Pending', initContainerStatuses: [{ restartCount: 2, state: { running: {} } }] },
      { spec: { initContainers: [{ name: 'i' }] } },
    ),
    '0/2',
    'Init:0/1',
    2,
  ],
  [
    'init failed',
    podOf({ phase: 'Pending', initContainerStatuses: [ended(2)] }, { spec: { initContainers: [{ name: 'i' }] } }),
    '0/2',
    'Init:ExitCode:2',
    0,
  ],
  [
    'a sidecar counts',
    podOf(
      {
        phase: 'Running',
        initContainerStatuses: [{ ...running, name: 's', started: true, restartCount: 1 }],
        containerStatuses: [running, running],
      },
      { spec: { initContainers: [{ name: 's', restartPolicy: 'Always' }] } },
    ),
    '3/3',
    'Running',
    1,
  ],
  [
    'gated',
    podOf({ phase: 'Pending', conditions: [{ type: 'PodScheduled', reason: 'SchedulingGated' }] }),
    '0/2',
    'SchedulingGated',
    0,
  ],
];
for (const [name, pod, ready, status, restarts] of pods)
  test(`pod table: ${name}`, () => {
    const row = cells('', 'pods', pod);
    assert.deepEqual([row['Ready'], row['Status'], row['Restarts']], [ready, status, String(restarts)]);
  });

test('node table: status, roles, addresses', () => {
  const node = {
    metadata: { name: 'n', labels: { 'node-role.kubernetes.io/worker': '', 'node-role.kubernetes.io/edge': '' } },
    spec: { unschedulable: true },
    status: {
      conditions: [{ type: 'Ready', status: 'False' }],
      addresses: [{ type: 'InternalIP', address: '10.0.0.1' }],
      nodeInfo: { kubeletVersion: 'v1', kernelVersion: '6', architecture: 'arm64' },
    },
  };
  const row = cells('', 'nodes', node);
  assert.deepEqual(
    [row['Status'], row['Roles'], row['Internal-IP'], row['External-IP'], row['Kernel-Version'], row['OS-Image']],
    ['NotReady,SchedulingDisabled', 'edge,worker', '10.0.0.1', '<none>', '6 (arm64)', '<unknown>'],
  );
});

test('service table: addresses and ports by type', () => {
  const ports = [
    { port: 80, protocol: 'TCP' },
    { port: 443, nodePort: 30443, protocol: 'TCP' },
  ];
  const plain = cells('', 'services', { spec: { type: 'ClusterIP', clusterIPs: ['10.0.0.1'], ports } });
  assert.deepEqual([plain['External-IP'], plain['Port(s)']], ['<none>', '80/TCP,443:30443/TCP']);
  const pending = cells('', 'services', { spec: { type: 'LoadBalancer' } });
  assert.deepEqual(
    [pending['External-IP'], pending['Port(s)'], pending['Cluster-IP']],
    ['<pending>', '<none>', '<none>'],
  );
  const named = cells('', 'services', { spec: { type: 'ExternalName', externalName: 'example.com' } });
  assert.equal(named['External-IP'], 'example.com');
  const balanced = cells('', 'services', {
    spec: { type: 'LoadBalancer' },
    status: { loadBalancer: { ingress: [{ hostname: 'a-very-long-name.example.com' }] } },
  });
  assert.equal(balanced['External-IP'], 'a-very-long-name.example.com');
});

test('endpoints table: three at most, the rest counted', () => {
  const addresses = ['1', '2', '3', '4', '5'].map((ip) => ({ ip }));
  assert.equal(
    cells('', 'endpoints', { subsets: [{ addresses, ports: [{ port: 80 }] }] })['Endpoints'],
    '1:80,2:80,3:80 + 2 more...',
  );
  assert.equal(cells('', 'endpoints', {})['Endpoints'], '<none>');
});

test('job table: completions and status', () => {
  const job = (spec: JsonObject, status: JsonObject): JsonObject => cells('batch', 'jobs', { spec, status });
  assert.equal(job({ completions: 3 }, { succeeded: 1 })['Completions'], '1/3');
  assert.equal(job({ parallelism: 3 }, {})['Completions'], '0/1 of 3');
  assert.equal(job({}, { conditions: [{ type: 'Failed', status: 'True' }] })['Status'], 'Failed');
  assert.equal(job({}, {})['Status'], 'Running');
  assert.equal(
    job({}, { startTime: '1970-01-01T00:00:00Z', completionTime: '1970-01-01T00:00:05Z' })['Duration'],
    '5s',
  );
});

test('texts of labels and selectors are sorted', () => {
  assert.equal(labelsText({ b: '2', a: '1' }), 'a=1,b=2');
  assert.equal(labelsText({}), '<none>');
  assert.equal(
    selectorCell({
      matchLabels: { z: '1' },
      matchExpressions: [
        { key: 'a', operator: 'In', values: ['y', 'x'] },
        { key: 'c', operator: 'DoesNotExist' },
      ],
    }),
    'a in (x,y),!c,z=1',
  );
});

test('paths of printer columns', () => {
  const object = {
    spec: {
      a: [
        { type: 'X', v: 1 },
        { type: 'Ready', v: 2 },
      ],
      'b.c': 3,
    },
  };
  assert.deepEqual(parsePrinterPath('.spec.a[?(@.type=="Ready")].v')(object), [2]);
  assert.deepEqual(parsePrinterPath('.spec.a[0].v')(object), [1]);
  assert.deepEqual(parsePrinterPath('.spec.b\\.c')(object), [3]);
  assert.deepEqual(parsePrinterPath('.spec.none.more')(object), []);
});
