// What the chart renders is what `portcullis serve` takes: the goldens' arguments and settings are read by the real
// configuration. Commander takes an unknown flag's absence quietly, so every argument must also come back in what was
// read.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { ServeOptions } from '../../bin/verbs.ts';
import { run } from '../../bin/program.ts';
import { readConfig } from '../../config/config.ts';
import type { Config } from '../../config/configuration.ts';
import { argumentsOf, objectsOf, valueSets } from './helm.ts';
import { tempDir } from '../pretend/temp-dir.ts';

/** Reads a golden as a pod of it would start; throws what would end the process. */
async function configurationOf(golden: string): Promise<Config> {
  const text = readFileSync(golden, 'utf8');
  const folder = tempDir('chart');
  const file = join(folder, 'config.yaml');
  const settings = objectsOf(text).find(({ kind }) => kind === 'ConfigMap')?.['data'] as Record<string, string>;
  writeFileSync(file, settings['config.yaml']!);
  const args = argumentsOf(text).map((arg) =>
    arg.replace('$(POD_IP)', '10.1.2.3').replace('/etc/portcullis/config/config.yaml', file),
  );
  let options: ServeOptions | undefined;
  let reported = '';
  const terminal = { print: (line: string) => (reported += line), note: (line: string) => (reported += line) };
  const verbs = {
    serve: async (given: ServeOptions) => void (options = given),
    demo: async () => assert.fail('the chart starts serve'),
    check: async () => assert.fail('the chart starts serve'),
  };
  const code = await run(args, verbs, terminal as never);
  assert.equal(code, 0, reported);
  assert.equal(reported, '');
  return readConfig(options!, {}, true);
}

test('the arguments and settings of every golden are a configuration that serves', async () => {
  assert.equal(valueSets().length, 14);
  for (const { name, golden } of valueSets()) {
    const config = await configurationOf(golden);
    assert.ok(config.hub !== undefined, name);
    assert.equal(config.hub.kubeconfig, undefined, `${name}: in a pod the hub is its own cluster`);
    assert.equal(config.identity, 'impersonate');
    assert.ok(config.hub.serving !== undefined || config.tls !== undefined, `${name}: clients can verify it`);
  }
});

test('what a value says arrives in the configuration', async () => {
  const configurations = await Promise.all(valueSets().map(({ golden }) => configurationOf(golden)));
  const [first, ocm, beside, instead, every, , direct, wide] = configurations;
  const [imports, shared, joins, search, tenants, works] = configurations.slice(8);
  assert.equal(first!.hub!.tenants, undefined);
  assert.deepEqual(tenants!.hub!.tenants, {
    lease: { namespace: 'portcullis', name: 'portcullis-tenants' },
    clusterPermissions: true,
  });
  assert.deepEqual(first!.hub!.sources, ['ocm']);
  assert.equal(first!.hub!.joins, undefined);
  assert.deepEqual(joins!.hub!.joins, {
    lease: { namespace: 'portcullis', name: 'portcullis-joins' },
    bootstrapNamespaces: ['joining'],
  });
  assert.deepEqual(joins!.hub!.profiles, {
    namespace: 'portcullis',
    lease: { namespace: 'portcullis', name: 'portcullis-profiles' },
    address: 'https://portcullis.portcullis.svc:443',
    ca: undefined,
  });
  assert.deepEqual(direct!.console!.openid, {
    issuer: 'https://login.example.com/realms/people',
    clientId: 'portcullis-console',
    scopes: 'openid groups offline_access',
  });
  assert.deepEqual([first!.hub!.profiles, first!.console?.openid, wide!.console], [undefined, undefined, undefined]);
  assert.ok(first!.console !== undefined, 'the console is on unless it is turned off');
  assert.equal(first!.opsListen.host, '10.1.2.3');
  assert.equal(first!.shutdownDelayMs, 10_000);
  assert.equal(first!.outgoing.serviceAccountIdentity, 'prefixed');
  assert.deepEqual(first!.hub!.serving?.apiServices, ['v1alpha1.gateway.portcullis.io']);
  assert.equal(first!.hub!.serving?.names[0], 'portcullis.portcullis.svc');
  assert.equal(ocm!.hub!.managedServiceAccount, 'portcullis');
  assert.deepEqual(ocm!.hub!.clusterProxy?.port, 8090);
  assert.equal(beside!.hub!.secretNamespace, 'vela-system');
  assert.equal(beside!.hub!.authorizeVerb, 'http');
  assert.equal(beside!.outgoing.exchangeFile, '/etc/portcullis/config/identity-exchange.yaml');
  assert.ok(instead!.hub!.serving?.apiServices.includes('v1alpha1.cluster.core.oam.dev'));
  assert.equal(instead!.outgoing.privilegedUser, 'portcullis-privileged');
  assert.equal(every!.hub!.sources.length, 8);
  assert.deepEqual(every!.hub!.secretNamespaces, ['argocd', 'clusters', 'open-cluster-management-credentials']);
  assert.equal(every!.hub!.karmadaNamespace, 'karmada-clusters');
  assert.equal(every!.kubeconfigs.length, 2);
  assert.equal(every!.hub!.subpathAuthorization, true);
  assert.equal(every!.audit!.policyFile, '/etc/portcullis/config/audit-policy.yaml');
  assert.equal(every!.audit!.overflowPolicyFile, '/etc/portcullis/config/audit-overflow-policy.yaml');
  assert.equal(every!.audit!.log!.path, '/var/lib/portcullis/audit.log');
  assert.equal(every!.audit!.webhook!.configFile, '/etc/portcullis/audit-webhook/kubeconfig');
  assert.equal(every!.limits.endExpiredStreams, false);
  assert.equal(first!.audit, undefined, 'off without a policy');
  assert.equal(first!.index, undefined, 'no index without room for it');
  assert.equal(every!.index!.maxBytes, 512 * 1024 * 1024);
  assert.equal(direct!.listen.host, '::');
  assert.equal(direct!.clusterDomain, 'clusters.example.com');
  assert.deepEqual(direct!.outgoing.impersonateExtra, ['scopes']);
  assert.deepEqual(direct!.outgoing.forwardReserved, ['system:authenticated:oauth', 'kubeadm:cluster-admins']);
  assert.ok(direct!.hub!.origins!.includes('https://hub.example.com:6443'));
  assert.equal(direct!.hub!.serving, undefined);
  assert.equal(wide!.hub!.clusterGatewayApi, false);
  assert.deepEqual(wide!.hub!.secretNamespaces, [], 'all of them');
  assert.equal(wide!.workers, 2);
  assert.equal(first!.workers, 1);
  assert.equal(wide!.opsListen.host, '127.0.0.1');
  assert.deepEqual(imports!.hub!.imports, { namespace: 'clusterpedia-system', shardingName: 'a' });
  assert.equal(imports!.index!.startsAtOnce, true, 'imported clusters are followed without a question');
  assert.equal(first!.hub!.imports, undefined);
  assert.deepEqual(shared!.index!.rules, [
    { exclude: ['*{namespaces=kube-system}'] },
    {
      clusters: 'env=test',
      exclude: undefined,
      select: ['pods{labels=app in (web,api)}'],
      prune: ["pods{fields=spec.containers[].env metadata.annotations['a.io/b']}"],
    },
  ]);
  const lease = { namespace: 'portcullis', name: 'portcullis-collections' };
  assert.deepEqual([shared!.hub!.collections, imports!.hub!.collections], [{ lease }, undefined]);
  assert.deepEqual(shared!.index!.store, {
    url:
      'postgres://portcullis@fleet-rw.databases.svc:5432/portcullis?sslmode=verify-full&sslrootcert=/etc/portcullis/index-store-ca/ca.crt' +
      '&sslcert=/etc/portcullis/index-store-client/tls.crt&sslkey=/etc/portcullis/index-store-client/tls.key',
    passwordFile: '/etc/portcullis/index-store/password',
    schema: 'fleet',
    connections: 20,
  });
  assert.equal(search!.hub!.karmadaSearch, 'replace');
  assert.equal(search!.index!.startsAtOnce, true, 'what registries select is followed without a question');
  assert.ok(search!.hub!.serving?.apiServices.includes('v1alpha1.search.karmada.io'));
  assert.deepEqual(works!.hub!.works, {
    lease: { namespace: 'portcullis', name: 'portcullis-works' },
    clusterSets: ['edge'],
    defaultExecutor: 'deny',
    acceptUnstamped: false,
    hubUrl: 'https://hub.example.com:6443',
    agentId: undefined,
    evictionGraceMs: 3_600_000,
    historyLimit: 20,
    holdOnDenied: false,
    rawJson: false,
  });
  assert.equal(works!.hub!.memberAddresses.allowed?.length, 2, 'a setting without a value of its own');
  assert.equal(first!.hub!.works, undefined);
});
