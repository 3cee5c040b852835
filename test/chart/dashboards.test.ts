// The dashboards and alerts of the chart name only metrics and labels that the gateway has: those that a gateway of one
// process shows after a few requests, and those that others show, by the functions that register them.
import assert from 'node:assert/strict';
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { before, test } from 'node:test';
import { Registry } from 'prom-client';
import { parse } from 'yaml';
import { makeAuditCounts, registerAuditMetrics } from '../../gateway/audit/metrics.ts';
import { registerJoinMetrics, registerWorkMetrics } from '../../gateway/operations/controller-metrics.ts';
import { registerIndexMetrics } from '../../gateway/operations/index-metrics.ts';
import { makeMetrics } from '../../gateway/operations/metrics.ts';
import { makeWorkersPage } from '../../gateway/workers/metrics-page.ts';
import type { Index } from '../../search/index.ts';
import { exchange, requestBytes } from '../site/raw-client.ts';
import { startSite } from '../site/site.ts';
import { chartFolder } from './helm.ts';
import { namedIn } from './promql.ts';
import type { NamedInExpression } from './promql.ts';
import { tempDir } from '../pretend/temp-dir.ts';

/** Labels that Prometheus adds to what it scrapes of a pod. */
const targetLabels = ['namespace', 'pod', 'instance', 'job', 'service', 'container', 'endpoint'];
const folder = tempDir('dashboards');
/** Labels of every sample, by its name; a metric that has no sample is there without labels. */
let known: ReadonlyMap<string, ReadonlySet<string>>;

before(async () => {
  known = samplesOf([await pageOfGateway(), ...(await pagesOfParts())].join('\n'));
});

/** What a gateway shows that has answered, refused and failed requests. */
async function pageOfGateway(): Promise<string> {
  const tracing = join(folder, 'tracing.yaml');
  writeFileSync(
    tracing,
    'apiVersion: apiserver.config.k8s.io/v1\nkind: TracingConfiguration\nendpoint: http://127.0.0.1:1\nsamplingRatePerMillion: 1000000\n',
  );
  const site = await startSite({
    members: 1,
    users: [{ token: 'alice-token', name: 'alice' }],
    config: { tracingConfigFile: tracing },
  });
  try {
    for (const path of ['/clusters/m1/proxy/api/v1/pods', '/clusters/m9/proxy/api', '/version'])
      await exchange(site, requestBytes(`GET ${path}`, ['Authorization: Bearer alice-token']));
    return await (await fetch(`${site.gateway.opsUrl}/metrics`)).text();
  } finally {
    site.close();
  }
}

/** What gateways show in circumstances that this test does not make: an index, workers, works, faults. */
async function pagesOfParts(): Promise<readonly string[]> {
  const index = {
    state: () => [
      { cluster: 'm1', types: [{ isChosen: true, isWhole: true, phase: 'watching', objects: 1, lagMs: 0 }] },
    ],
    rightsSamples: () => [{ cluster: 'm1', result: 'agreed', count: 1 }],
    watchers: 1,
    shards: () => 128,
    database: () => ({
      fault: undefined,
      lagMs: 0,
      pool: { open: 1, idle: 1, waiting: 0 },
      commits: 0,
      sequencerWaitMs: 0,
      logAgeMs: 0,
    }),
  } as unknown as Index;
  const condition = { type: 'Available', status: 'True', reason: 'A', message: '', lastTransitionTime: '' };
  const record = { spec: { name: 'm1' }, status: { conditions: [condition] } };
  const { registry } = makeMetrics({
    store: { list: () => [record], get: () => record } as never,
    connections: { stats: () => [['m1', { idle: 1 }, 'closed']] as never },
    openStreams: [{ kind: 'watch', clusterName: 'm1' }] as never,
    log: { isLevelEnabled: () => false } as never,
    reloadFaults: () => ['rules.yaml'],
    version: '1.2.3',
  });
  registerIndexMetrics(registry, () => index, undefined);
  registerWorkMetrics(registry, () => ({
    works: { applied: 1 } as never,
    queueSeconds: new Map([['m1', 1]]) as never,
    reconciles: 1,
    reconcileSeconds: 1,
  }));
  registerJoinMetrics(registry, () => ({ ready: 1, waiting: 0, leaving: 0 }));
  registerAuditMetrics(
    registry,
    makeAuditCounts(['log', 'webhook'] as never),
    () => [{ name: 'log', accepting: true }] as never,
    () => 1,
  );
  const ofFolder = new Registry();
  registerIndexMetrics(ofFolder, () => index, folder);
  const supervisor = {
    list: () => [[0, { isReady: true, connections: 1, metrics: [] }]] as never,
    restarts: 0,
    readMetrics: async () => undefined,
  };
  const workers = makeWorkersPage(new Registry(), () => supervisor as never);
  return await Promise.all([registry.metrics(), ofFolder.metrics(), workers.metrics()]);
}

function samplesOf(page: string): ReadonlyMap<string, ReadonlySet<string>> {
  const found = new Map<string, Set<string>>();
  for (const line of page.split('\n')) {
    const [, name, labels = ''] = /^(?:# TYPE )?([a-zA-Z_:][\w:]*)(?:\{(.*)\})? \S+$/.exec(line) ?? [];
    if (name === undefined) continue;
    const own = found.get(name) ?? new Set();
    for (const [, label] of labels.matchAll(/(\w+)="/g)) own.add(label!);
    found.set(name, own);
  }
  return found;
}

/** What an expression names that no gateway has. */
function faultsOf(expression: string): readonly string[] {
  const { metrics, groups }: NamedInExpression = namedIn(expression);
  if (metrics.length === 0) return ['names no metric'];
  const all = new Set([...targetLabels, ...metrics.flatMap(({ metric }) => [...(known.get(metric) ?? [])])]);
  return [
    ...metrics.flatMap(({ metric, labels }) => {
      const own = known.get(metric);
      if (own === undefined) return [`no metric ${metric}`];
      return labels
        .filter((label) => !own.has(label) && !targetLabels.includes(label))
        .map((label) => `no label ${label} of ${metric}`);
    }),
    ...groups.filter((label) => !all.has(label)).map((label) => `no label ${label} to group by`),
  ];
}

interface Dashboard {
  readonly uid: string;
  readonly title: string;
  readonly panels: readonly {
    readonly id: number;
    readonly title: string;
    readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
    readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  }[];
  readonly templating: { readonly list: readonly { readonly name: string; readonly definition?: string }[] };
}

const dashboards = globSync(join(chartFolder, 'dashboards', '*.json'));

for (const file of dashboards) {
  test(`every metric and label of ${basename(file)} is one of the gateway's`, () => {
    const { panels, templating } = JSON.parse(readFileSync(file, 'utf8')) as Dashboard;
    const asked = [
      ...panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => [title, expr] as const)),
      ...templating.list.flatMap(({ name, definition }) => (definition === undefined ? [] : [[name, definition]])),
    ] as (readonly [string, string])[];
    assert.ok(asked.length > 15, `${asked.length}`);
    const odd = asked.flatMap(([title, expr]) => faultsOf(expr).map((fault) => `${title}: ${fault} in ${expr}`));
    assert.deepEqual(odd, []);
  });

  test(`panels of ${basename(file)} have a number and a place of their own, and legends name labels that there are`, () => {
    const { uid, panels } = JSON.parse(readFileSync(file, 'utf8')) as Dashboard;
    assert.equal(`${uid}.json`, basename(file));
    assert.equal(new Set(panels.map(({ id }) => id)).size, panels.length);
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, i) => `${x + (i % w)} ${y + Math.floor(i / w)}`),
    );
    assert.equal(new Set(cells).size, cells.length, 'no panel lies over another');
    assert.ok(panels.every(({ gridPos: { x, w } }) => x + w <= 24));
    for (const { targets = [] } of panels) {
      for (const { expr, legendFormat } of targets) {
        const { groups } = namedIn(expr);
        for (const [, label] of legendFormat.matchAll(/\{\{(\w+)\}\}/g)) assert.ok(groups.includes(label!), expr);
      }
    }
  });
}

interface Rules {
  readonly groups: readonly {
    readonly rules: readonly {
      readonly alert: string;
      readonly expr: string;
      readonly annotations: Readonly<Record<string, string>>;
    }[];
  }[];
}

test("every metric and label of the alerts is one of the gateway's, and each alert says what to do", () => {
  const { groups } = parse(readFileSync(join(chartFolder, 'files/alerts.yaml'), 'utf8')) as Rules;
  const rules = groups.flatMap((group) => group.rules);
  assert.ok(rules.length > 15);
  assert.equal(new Set(rules.map(({ alert }) => alert)).size, rules.length);
  const page = readFileSync(join(chartFolder, '../../docs/how-to/observe.md'), 'utf8');
  for (const { alert, expr, annotations } of rules) {
    assert.deepEqual(faultsOf(expr), [], alert);
    assert.equal(annotations['runbook'], `docs/how-to/observe.md#${alert.toLowerCase()}`);
    assert.match(page, new RegExp(`^### ${alert}$`, 'm'), `${alert} is explained`);
    const { groups: by } = namedIn(expr);
    for (const [, label] of Object.values(annotations)
      .join(' ')
      .matchAll(/\$labels\.(\w+)/g))
      assert.ok(by.includes(label!), `${alert}: ${label}`);
  }
});

test('each metric of the gateway is in a dashboard or an alert', () => {
  const texts = [...dashboards, join(chartFolder, 'files/alerts.yaml')]
    .map((file) => readFileSync(file, 'utf8'))
    .join();
  const unseen = [...known.keys()]
    .filter((name) => name.startsWith('portcullis_') && !/_(?:bucket|sum|count)$/.test(name))
    .filter((name) => !texts.includes(name));
  assert.deepEqual(unseen, []);
});

test('a metric or a label that does not exist is noticed', () => {
  assert.deepEqual(
    faultsOf('sum by (cluster, le) (rate(portcullis_request_duration_seconds_bucket{verb="get"}[5m]))'),
    [],
  );
  assert.deepEqual(faultsOf('rate(portcullis_requests_total[5m])'), ['no metric portcullis_requests_total']);
  assert.deepEqual(faultsOf('sum by (user) (portcullis_request_total{verb!="x", host=~"{a}"})'), [
    'no label host of portcullis_request_total',
    'no label user to group by',
  ]);
  assert.deepEqual(faultsOf('label_values(portcullis_build_info, versions)'), ['no label versions to group by']);
});
