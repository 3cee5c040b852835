// A Go client that does what cluster-gateway's client library does works against the gateway, through a real hub and
// directly. The transport rewrites a path behind client-go's back, so a request without a cluster in its context must
// still mean the hub.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { ensureBinaries } from '../../controlplane/build.ts';
import type { Member } from '../../controlplane/fixture.ts';
import { writeKubeconfig } from '../../controlplane/kubeconfig.ts';
import { secretNamespace } from '../../hub/objects.ts';
import { startHubSite } from '../../hub/site.ts';
import type { HubSite } from '../../hub/site.ts';

const run = promisify(execFile);
const configMap = { apiVersion: 'v1', kind: 'ConfigMap' };
const mark = { name: 'only-in-the-member', namespace: 'team-a' };
let site: HubSite;
let member: Member;
let program: string;

before(async () => {
  program = (await ensureBinaries(['cluster-gateway-client']))['cluster-gateway-client']!;
  site = await startHubSite();
  [member] = site.members as readonly [Member];
  await member.apply({ ...configMap, metadata: mark });
});

after(() => site?.stop());

/** What the Go program prints; its own types are in its `main.go`. */
interface Seen {
  readonly kinds: readonly string[];
  readonly gateway: {
    readonly metadata: { readonly name: string };
    readonly spec: { readonly access: { readonly endpoint: unknown; readonly credential: unknown } };
  };
  readonly gateways: readonly string[];
  readonly before: object;
  readonly updated: object;
  readonly after: object;
  readonly conflict: string;
  readonly rawHealthz: string;
  readonly healthz: string;
  readonly members: Readonly<Record<string, readonly string[]>>;
  readonly hubWithout: readonly string[];
  readonly strictError: string;
  readonly watched: string;
  readonly unknown: string;
}

/** Runs the program as carol, who may do everything on hub and member, with a kubeconfig of that server. */
async function ask(name: string, server: string, caPem: string): Promise<Seen> {
  const { token } = site.hub.users.carol;
  const kubeconfig = await writeKubeconfig(join(site.plane.dir, `${name}.kubeconfig`), [
    { name, server, caPem, user: 'carol', credential: { token } },
  ]);
  const args = ['--hub', kubeconfig, '--cluster', member.name, '--namespace', mark.namespace];
  const { stdout } = await run(program, args, { timeout: 120_000 });
  return JSON.parse(stdout) as Seen;
}

for (const through of ['through the hub', 'directly'] as const) {
  test(`${through}: a Go client written for cluster-gateway (CG-73, CG-75, CG-76, CG-77, CG-78, CG-79)`, async () => {
    const auditMark = await member.auditMark();
    const seen =
      through === 'directly'
        ? await ask('direct', site.gateway.url, site.authority.certPem)
        : await ask('hub', site.hub.url, site.hub.caPem);

    assert.ok(seen.kinds.includes('ClusterGateway'));
    assert.equal(seen.gateway.metadata.name, member.name);
    const { endpoint, credential } = seen.gateway.spec.access;
    assert.deepEqual(endpoint, { type: 'Const', const: { address: member.url } });
    assert.deepEqual(credential, { type: 'ServiceAccountToken' }, 'the type decodes, the token is not told');
    assert.deepEqual(seen.gateways, [member.name]);

    const unhealthy = { healthy: false };
    const healthy = { healthy: true, healthyReason: 'ConnectionTimeout' };
    assert.deepEqual([seen.before, seen.updated, seen.after], [unhealthy, healthy, healthy]);
    assert.match(seen.conflict, /the object has been modified/);
    const secret = await site.hub.request('GET', `/api/v1/namespaces/${secretNamespace}/secrets/${member.name}`);
    const { data, metadata } = JSON.parse(secret.body) as { data: object; metadata: { annotations: object } };
    assert.equal(new Map(Object.entries(metadata.annotations)).get('status.cluster.core.oam.dev/healthy'), 'false');
    assert.deepEqual(Object.keys(data).toSorted(), ['ca.crt', 'endpoint', 'token']);

    assert.deepEqual([seen.rawHealthz, seen.healthz], ['ok', 'ok']);
    assert.deepEqual(Object.keys(seen.members).toSorted(), ['context', 'controller-runtime', 'fixed', 'strict']);
    for (const [way, names] of Object.entries(seen.members)) assert.ok(names.includes(mark.name), way);
    assert.equal(seen.watched, 'ADDED');
    assert.match(seen.strictError, /no cluster in the context/);
    assert.match(seen.unknown, /nobody.*not found/);
    // Without a cluster in its context a request is one to whom the kubeconfig names: the hub has `apps`, the gateway
    // itself has not.
    assert.ok(seen.hubWithout.includes('cluster.core.oam.dev'));
    assert.equal(seen.hubWithout.includes('apps'), through === 'through the hub');

    const lists = (await member.audit(auditMark)).filter(
      ({ verb, objectRef }) =>
        verb === 'list' && objectRef?.resource === 'configmaps' && objectRef.namespace === 'team-a',
    );
    assert.ok(lists.length >= 4);
    assert.deepEqual([...new Set(lists.map(({ impersonatedUser }) => impersonatedUser?.username))], ['carol']);
  });
}
