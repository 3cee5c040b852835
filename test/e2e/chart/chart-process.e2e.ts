// The process with exactly the arguments, files and ServiceAccount that the chart renders does its work on a real hub:
// its certificate is verified by the aggregator, every source's clusters come and go, people reach them as themselves.
// A right that is missing shows only as a quiet retry, so the hub's audit log must hold no refusal of the gateway.
// Landing tier: the gateway as the chart starts it.
import assert from 'node:assert/strict';
import { request } from 'node:https';
import { after, before, test } from 'node:test';
import { connect } from 'node:tls';
import { startChartSite } from '../../chart/site.ts';
import type { ChartSite } from '../../chart/site.ts';
import type { Member } from '../../controlplane/fixture.ts';
import type { GatewayProcess } from '../../gateway-process.ts';
import { clusterPath } from '../../hub/site.ts';
import { createAccount, createClientCertificate } from '../identity/accounts.ts';
import { registrationNamespaces, registrations, secretNamespaces } from '../hub/hub-registrations.ts';
import type { Way } from '../hub/hub-registrations.ts';
import { eventually } from '../../site/polling.ts';
import { clusterRoleBinding, userSubject } from '../../site/rbac.ts';

const account = 'system:serviceaccount:portcullis:portcullis';
const sources = 'ocm,cluster-gateway,karmada,cluster-api,vcluster,argocd,pediacluster';
let site: ChartSite;
let hub: Member;
let way: Way;

before(async () => {
  site = await startChartSite({
    members: ['m1'],
    namespaces: [...registrationNamespaces, 'open-cluster-management-credentials', 'monitoring'],
    sets: [
      `sources={${sources}}`,
      `secretNamespaces={${secretNamespaces}}`,
      'probeIntervalSeconds=1,shutdown.delaySeconds=1,shutdown.graceSeconds=5',
      'metrics.readers[0].kind=ServiceAccount',
      'metrics.readers[0].name=prometheus',
      'metrics.readers[0].namespace=monitoring',
    ],
  });
  ({ hub } = site);
  const member = site.plane.member('m1');
  const token = await createAccount(member, 'portcullis-token');
  const pair = await createClientCertificate(member, 'portcullis-certificate');
  way = { url: member.url, caPem: member.caPem, token, certPem: pair.certPem, keyPem: pair.keyPem };
  const bind = (role: string): object => clusterRoleBinding(`alice-${role}`, role, userSubject('alice'));
  await hub.apply(bind('portcullis-clusters-view'), bind('portcullis-clusters-use'));
  await hub.apply({
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: { name: 'prometheus', namespace: 'monitoring' },
  });
});
after(() => site?.stop());

/** The hub's kubectl as one of its users, perhaps below a cluster's path. */
async function kubectl(
  user: 'alice' | 'bob',
  cluster: string | undefined,
  ...args: readonly string[]
): Promise<{ code: number | null; text: string }> {
  const server = cluster === undefined ? hub.url : hub.url + clusterPath(cluster);
  const { code, stdout, stderr } = await hub.kubectl([
    `--kubeconfig=${hub.users[user].kubeconfig}`,
    `--server=${server}`,
    ...args,
  ]);
  return { code, text: stdout + stderr };
}

/** The certificate a listener shows. */
function shown(pod: GatewayProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port: pod.port, rejectUnauthorized: false }, () => {
      resolve(socket.getPeerX509Certificate()!.fingerprint256);
      socket.destroy();
    }).on('error', reject);
  });
}

async function secretOf(): Promise<Readonly<Record<string, string>>> {
  const { body } = await hub.request('GET', '/api/v1/namespaces/portcullis/secrets/portcullis-serving');
  return (JSON.parse(body) as { data: Record<string, string> }).data;
}

test('the hub verifies the certificate that the pods made, and a second pod shows the same', async () => {
  const { body } = await hub.request(
    'GET',
    '/apis/apiregistration.k8s.io/v1/apiservices/v1alpha1.gateway.portcullis.io',
  );
  const { spec } = JSON.parse(body) as { spec: { caBundle: string; insecureSkipTLSVerify?: boolean } };
  assert.ok(spec.insecureSkipTLSVerify !== true);
  assert.equal(spec.caBundle, (await secretOf())['ca.crt']);
  const second = await site.startPod();
  assert.equal(await shown(second), await shown(site.gateway));
  assert.equal(await second.stop(), 0);
});

for (const registration of registrations) {
  test(
    `with the chart's rights, ${registration.title} is reached as the caller and goes away`,
    { timeout: 60_000 },
    async () => {
      const { cluster } = registration;
      for (const object of registration.objects(way)) await hub.apply(object);
      const whoami = async (): Promise<string> =>
        (await kubectl('alice', cluster, 'auth', 'whoami', '-o', 'jsonpath={.status.userInfo.username}')).text;
      await eventually(`${cluster} answers`, async () => (await whoami()) === 'alice', {
        timeoutMs: 10_000,
        everyMs: 50,
      });
      const refused = await kubectl('bob', cluster, 'get', 'pods', '-A');
      assert.equal(refused.code, 1);
      assert.match(refused.text, /Error from server \(Forbidden\)/);
      for (const path of [...registration.paths, ...registration.rest]) await hub.request('DELETE', path);
      const version = (): ReturnType<typeof kubectl> => kubectl('alice', cluster, 'get', '--raw', '/version');
      await eventually(`${cluster} is gone`, async () => (await version()).text.includes('(NotFound)'), {
        timeoutMs: 10_000,
        everyMs: 50,
      });
    },
  );
}

test('kubectl lists the clusters for whom the view role is bound to, and for nobody else', async () => {
  const pedia = registrations.find(({ source }) => source === 'pediacluster')!;
  for (const object of pedia.objects(way)) await hub.apply(object);
  const list = (user: 'alice' | 'bob'): ReturnType<typeof kubectl> =>
    kubectl(user, undefined, 'get', 'clusters.gateway.portcullis.io');
  await eventually(
    'the list',
    async () => new RegExp(`^${pedia.cluster} +True `, 'm').test((await list('alice')).text),
    { timeoutMs: 10_000 },
  );
  assert.match((await list('bob')).text, /Forbidden/);
  for (const path of pedia.paths) await hub.request('DELETE', path);
});

test('the metrics are read by the account the values name, over TLS, and by no other', async () => {
  const ca = Buffer.from((await secretOf())['ca.crt']!, 'base64');
  const scrape = (token: string | undefined): Promise<{ status: number; text: string }> =>
    new Promise((resolve, reject) => {
      const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
      request(
        `${site.gateway.opsUrl}/metrics`,
        { ca, servername: 'portcullis.portcullis.svc', headers, agent: false },
        (response) => {
          let text = '';
          response.setEncoding('utf8').on('data', (part: string) => (text += part));
          response.on('end', () => resolve({ status: response.statusCode!, text }));
        },
      )
        .on('error', reject)
        .end();
    });
  const tokenOf = async (name: string, namespace: string): Promise<string> =>
    (await hub.kubectl(['create', 'token', name, '-n', namespace])).stdout.trim();
  const good = await scrape(await tokenOf('prometheus', 'monitoring'));
  assert.equal(good.status, 200, good.text);
  assert.match(good.text, /^portcullis_/m);
  assert.equal((await scrape(undefined)).status, 401);
  assert.equal((await scrape('nonsense')).status, 401);
  const other = await scrape(await tokenOf('portcullis', 'portcullis'));
  assert.equal(other.status, 403);
  assert.match(other.text, /may not get \/metrics/);
});

test("a certificate that ends is renewed by the running pod, and the hub's users notice nothing", async () => {
  const before = await shown(site.gateway);
  // What is left when somebody empties the Secret: the pod makes a new authority, has the hub trust it, then shows its
  // certificate.
  const path = '/api/v1/namespaces/portcullis/secrets/portcullis-serving';
  const answer = await hub.request('PATCH', path, { data: null }, { 'content-type': 'application/merge-patch+json' });
  assert.equal(answer.status, 200);
  await eventually('a new certificate', async () => (await shown(site.gateway)) !== before, {
    timeoutMs: 10_000,
    everyMs: 50,
  });
  await eventually('discovery', async () => (await kubectl('alice', undefined, 'get', 'pcl')).code === 0, {
    timeoutMs: 30_000,
  });
});

test('the hub refused the gateway nothing', async () => {
  const events = (await hub.audit()).filter(({ user }) => user.username === account);
  assert.ok(events.length > 20, 'its requests are in the log');
  const refused = events.filter(({ responseStatus }) => responseStatus?.code === 403 || responseStatus?.code === 401);
  assert.deepEqual(
    refused.map(({ verb, requestURI }) => `${verb} ${requestURI}`),
    [],
  );
});
