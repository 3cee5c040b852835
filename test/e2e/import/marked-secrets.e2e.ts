// Secrets whose values are marked go through everything that can fail while a cluster is imported, is followed and
// ends. The marks may be in the PediaCluster's fields for credentials, which is what they are for, and nowhere else.
import assert from 'node:assert/strict';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import type { Member } from '../../controlplane/fixture.ts';
import { http1Client } from '../../clients/stream-client.ts';
import {
  eventually,
  hasReason,
  isGone,
  paths,
  read,
  remove,
  startImportSite,
  type ImportSite,
  type Json,
} from './import-site.ts';
import { tempDir } from '../../pretend/temp-dir.ts';

const mark = 'MARKEDvalue';
/** However a value is written: as it is, in base64 at any offset, or in hexadecimal digits. */
const marks = [
  mark,
  ...[0, 1, 2].map((offset) =>
    Buffer.from(`${'x'.repeat(offset)}${mark}`)
      .toString('base64')
      .slice(offset === 0 ? 0 : 4, -4),
  ),
  Buffer.from(mark).toString('hex'),
];
const secrets = '/api/v1/namespaces/marked/secrets';
let site: ImportSite;
let hub: Member;
let auditFile: string;

before(async () => {
  const folder = tempDir('audit');
  auditFile = path.join(folder, 'audit.log');
  const policyFile = path.join(folder, 'policy.json');
  const rules = [{ level: 'Metadata' }];
  writeFileSync(policyFile, JSON.stringify({ apiVersion: 'audit.k8s.io/v1', kind: 'Policy', rules }));
  const args = ['--audit-policy-file', policyFile, '--audit-log-path', auditFile];
  const config = { logLevel: 'debug', probeIntervalSeconds: 1 };
  site = await startImportSite({ audit: true, gateway: { args, config } });
  hub = site.hub;
  await hub.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'marked' } });
});

after(async () => {
  await site?.stop();
  if (auditFile !== undefined) rmSync(path.dirname(auditFile), { recursive: true });
});

async function putSource(name: string, data: Readonly<Record<string, string>>): Promise<void> {
  await hub.apply({ apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace: 'marked' }, stringData: data });
}

/** A policy that takes the one Secret of its name. */
async function putPolicy(name: string, template: string, more: Json = {}): Promise<string> {
  await hub.apply({
    apiVersion: 'policy.clusterpedia.io/v1alpha1',
    kind: 'ClusterImportPolicy',
    metadata: { name },
    spec: {
      source: {
        group: '',
        resource: 'secrets',
        selectorTemplate: `{{ and (eq .source.metadata.namespace "marked") (eq .source.metadata.name "${name}") }}`,
      },
      nameTemplate: '{{ .source.metadata.name }}',
      template,
      creationCondition: 'true',
      ...more,
    },
  });
  return `${paths.policies}/${name}`;
}

const lifecycle = (name: string): string => `${paths.lifecycles}/${name}`;
const cluster = (name: string): string => `${paths.clusters}/${name}`;

const synced = 'syncResources: [{ group: "", resources: [pods] }]';
const good = `spec:
  apiserver: {{ .source.data.server | b64dec }}
  caData: {{ .source.data.ca }}
  tokenData: {{ .source.data.token }}
  ${synced}`;

test('templates that fail on a value, or print what is no PediaCluster, tell where and not what', async () => {
  const failing: readonly [string, string, Json, RegExp][] = [
    ['no-yaml', `spec:\n  apiserver: [{{ .source.data.token | b64dec }}`, {}, /FailedResolveAndDecodePediaCluster/],
    ['no-base64', `spec: { tokenData: "{{ .source.data.token | b64dec }}!", ${synced} }`, {}, /FailedResolveAnd/],
    ['other-kind', `kind: {{ .source.data.token | b64dec }}`, {}, /FailedResolveAndDecodePediaCluster/],
    ['fails', `{{ index (.source.data.token | b64dec) "a" }}`, {}, /FailedResolveAndDecodePediaCluster/],
    ['fail-word', `{{ fail (.source.data.token | b64dec) }}`, {}, /FailedResolveAndDecodePediaCluster/],
    ['no-number', `{{ add (.source.data.token | b64dec | fromJson) 1 }}`, {}, /FailedResolveAndDecodePediaCluster/],
    ['pattern', `{{ regexFind (printf "(%s" (.source.data.token | b64dec)) "a" }}`, {}, /FailedResolveAndDecode/],
    [
      'condition',
      good,
      { creationCondition: '{{ index (.source.data.token | b64dec) "a" }}' },
      /WaitCreationCondition/,
    ],
    [
      'refused',
      `spec: { apiserver: https://a, syncResources: [{ group: "", resources: [] }] }\nmetadata: { labels: { a: "{{ .source.data.token | b64dec }} no label" } }`,
      {},
      /CreationFailure/,
    ],
  ];
  for (const [name, template, more, reason] of failing) {
    await putSource(name, { token: mark, server: `https://${mark.toLowerCase()}.invalid` });
    await putPolicy(name, template, more);
    await eventually(`${name} is told`, async () => {
      const created = (await read(hub, lifecycle(name)))?.status?.conditions?.find(
        ({ type }: Json) => type === 'Created',
      );
      return created !== undefined && reason.test(created.reason);
    });
  }
});

test('a selector that fails, and a reference that cannot be named, tell where and not what', async () => {
  await putSource('selector', { token: mark });
  const policy = await putPolicy('selector', good, {
    source: {
      group: '',
      resource: 'secrets',
      selectorTemplate:
        '{{ if eq .source.metadata.name "selector" }}{{ index (.source.data.token | b64dec) "a" }}{{ end }}',
    },
  });
  await hasReason(hub, policy, 'Reconciling', 'FailedReconcile');
  await putSource('reference', { token: mark });
  await putPolicy('reference', good, {
    references: [
      { key: 'a', group: '', resource: 'secrets', nameTemplate: '{{ index (.source.data.token | b64dec) "a" }}' },
    ],
  });
  await hasReason(hub, lifecycle('reference'), 'Created', 'FailedReferenceResourceParse');
});

test('clusters that refuse a credential, cannot be reached or read, do not tell it', async () => {
  const member = site.plane.member('m1');
  const sources: readonly [string, Readonly<Record<string, string>>, string, string][] = [
    ['unauthorized', { server: member.url, ca: member.caPem, token: mark }, good, 'InitialFailed'],
    ['unreachable', { server: 'https://127.0.0.1:1', ca: member.caPem, token: mark }, good, 'InitialFailed'],
    ['no-authority', { server: member.url, ca: mark, token: mark }, good, 'InvalidConfig'],
    ['no-token', { server: member.url, ca: member.caPem, token: `${mark} ${mark}` }, good, 'InvalidConfig'],
    [
      'no-kubeconfig',
      { token: `clusters: [${mark}` },
      `spec: { kubeconfig: {{ .source.data.token }}, ${synced} }`,
      'InvalidConfig',
    ],
    [
      'no-context',
      { token: JSON.stringify({ 'current-context': mark, users: [{ name: mark, user: { token: mark } }] }) },
      `spec: { kubeconfig: {{ .source.data.token }}, ${synced} }`,
      'InvalidConfig',
    ],
  ];
  for (const [name, data, template, reason] of sources) {
    await putSource(name, data);
    await putPolicy(name, template);
    await hasReason(hub, cluster(name), 'SynchroRunning', reason);
  }
  const { uid } = (await read(hub, cluster('unauthorized'))).metadata;
  await remove(hub, cluster('unauthorized'));
  await eventually('it is made again', async () => {
    const again = (await read(hub, cluster('unauthorized')))?.metadata.uid;
    return again !== undefined && again !== uid;
  });
  await hasReason(hub, cluster('unauthorized'), 'SynchroRunning', 'InitialFailed');
  await remove(hub, `${secrets}/unreachable`);
  await isGone(hub, cluster('unreachable'));
});

function without(object: Json, ...fields: readonly string[]): Json {
  return {
    ...object,
    spec: Object.fromEntries(Object.entries(object.spec).filter(([field]) => !fields.includes(field))),
  };
}

async function ask(url: string, isExpected = (status: number): boolean => status === 200): Promise<string> {
  const { caPem, url: base } = site.gateway;
  const client = http1Client({ url: base, caPem, headers: { authorization: `Bearer ${hub.users.carol.token}` } });
  try {
    const answer = await client.get(url);
    await answer.ended;
    assert.ok(isExpected(answer.status), `${url}: ${answer.status}`);
    return answer.body().toString('utf8');
  } finally {
    client.close();
  }
}

const isFault = (status: number): boolean => status >= 500;

test('no log, event, condition, metric, answer or audit event holds a mark', async () => {
  const [policies, lifecycles, clusters] = await Promise.all(Object.values(paths).map((each) => read(hub, each)));
  const bodies = clusters.items.map((item: Json) =>
    without(item, 'kubeconfig', 'caData', 'tokenData', 'certData', 'keyData'),
  );
  assert.ok(clusters.items.length >= 5 && lifecycles.items.length >= 12);
  const places: Readonly<Record<string, string>> = {
    'the log': site.gateway.log(),
    metrics: await (await fetch(`${site.gateway.opsUrl}/metrics`)).text(),
    readyz: await (await fetch(`${site.gateway.opsUrl}/readyz?verbose`)).text(),
    policies: JSON.stringify(policies),
    lifecycles: JSON.stringify(lifecycles),
    PediaClusters: JSON.stringify(bodies),
    'events of the hub': JSON.stringify(await read(hub, '/api/v1/events')),
    'requests to the hub': JSON.stringify((await hub.audit()).map(({ requestURI }) => requestURI)),
    clusters: await ask('/apis/gateway.portcullis.io/v1alpha1/clusters'),
    index: await ask('/apis/search.portcullis.io/v1alpha1/indexes/default/freshness'),
    'the answer for a cluster that refuses the credential': await ask('/clusters/unauthorized/proxy/api', isFault),
    'the answer for a cluster that cannot be used': await ask('/clusters/no-token/proxy/api', isFault),
    'audit log': readFileSync(auditFile, 'utf8'),
  };
  for (const [place, text] of Object.entries(places)) {
    assert.ok(text.length > 20, place);
    for (const each of marks) {
      const at = text.toLowerCase().indexOf(each.toLowerCase());
      assert.equal(at, -1, `${place} holds ${each}: ${text.slice(Math.max(0, at - 200), at + 50)}`);
    }
  }
});
