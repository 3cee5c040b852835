import assert from 'node:assert/strict';
import { test } from 'node:test';

import { makeLog } from '../../lib/log.ts';
import { until } from '../../kube/client/hub.fixture.ts';
import { createClusterStore } from '../../model/store.ts';
import type { ClusterSpec } from '../../model/records.ts';
import { probeIntervalMs, startProbe } from './probe.ts';

test('a cluster is probed at the interval that was asked for, until all of them together would be more than a hundred probes a second', () => {
  assert.equal(probeIntervalMs(10_000, 0), 10_000);
  assert.equal(probeIntervalMs(10_000, 1_000), 10_000);
  assert.equal(probeIntervalMs(10_000, 2_000), 20_000);
  assert.equal(probeIntervalMs(60_000, 10_000), 100_000);
  assert.equal(probeIntervalMs(120_000, 10_000), 120_000, 'never more often than asked for');
});

test('a cluster that could not be used is probed once it is mended', async (t) => {
  const store = createClusterStore();
  const spec: ClusterSpec = {
    name: 'm',
    originalName: 'm',
    uid: 'u',
    source: 'test',
    sourceDetail: 'test',
    labels: {},
    endpoint: undefined,
    tls: { ca: undefined, serverName: undefined, insecure: false },
    proxy: undefined,
    credential: undefined,
    transportKey: 'k',
    problem: { reason: 'InvalidConfiguration', message: 'no address' },
  };
  const looked: string[] = [];
  // Only that the probe begins counts here; that it has neither address nor connection is what it then finds.
  const connections = {} as never;
  const probe = startProbe({
    store,
    connections,
    identity: 'impersonate',
    clusterFault: ({ labels }) => void looked.push(labels['try'] ?? ''),
    log: makeLog('silent'),
    timing: { intervalMs: 1, jitter: 0, timeoutMs: 1 },
  });
  t.after(() => probe.close());
  store.apply('test', [spec]);
  // Longer than the first probe of a cluster may wait.
  await new Promise((resolve) => setTimeout(resolve, 300));
  assert.equal(looked.length, 0);
  store.apply('test', [{ ...spec, labels: { try: 'mended' }, problem: undefined }]);
  await until(() => looked.includes('mended'));
});
