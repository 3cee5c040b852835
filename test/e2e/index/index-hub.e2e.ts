// The index through a real hub. A hub's kube-apiserver cuts after 60 s what it does not take for long-running, so the
// path that kubeconfig writes must live longer, and Clusterpedia's must end before, cleanly.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { gatewayUser } from '../../controlplane/fixture-types.ts';
import type { Member } from '../../controlplane/fixture.ts';
import { aggregationObjects } from '../../hub/objects.ts';
import { startHubSite } from '../../hub/site.ts';
import type { HubSite } from '../../hub/site.ts';
import { hubSide } from '../hub/hub-sides.ts';
import { reviewRights } from './index-objects.ts';
import { eventually } from '../../site/polling.ts';
import type { Side } from '../kubectl/sides.ts';
import { grantedClusterRole, userSubject } from '../../site/rbac.ts';

const proxy = '/apis/search.portcullis.io/v1alpha1/indexes/default/proxy';
const resources = '/apis/clusterpedia.io/v1beta1/resources';
/** The row says 300. */
const watchMs = Number(process.env['PORTCULLIS_HUB_WATCH_SECONDS'] ?? '70') * 1000;
let site: HubSite;
let m1: Member;
let alice: Side;
let bob: Side;

function configMap(name: string): object {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'team-a' } };
}

before(async () => {
  site = await startHubSite({
    members: ['m1'],
    // What lives 50 s lives 5 s here; a hub's own 60 s stay.
    gateway: { args: ['--index-resources', 'configmaps'], env: { PORTCULLIS_TEST_TIME_SCALE: '0.1' } },
  });
  m1 = site.plane.member('m1');
  const all = [{ apiGroups: ['*'], resources: ['*'], verbs: ['get', 'list', 'watch'] }];
  await m1.apply(
    ...grantedClusterRole('test-index', all, userSubject('portcullis:index')),
    ...reviewRights(gatewayUser),
    configMap('there'),
  );
  // As the chart's role: RBAC has no star behind a slash, and what stands there in Clusterpedia's paths is anything.
  const search = [
    { apiGroups: ['search.portcullis.io'], resources: ['indexes/proxy'], verbs: ['get'] },
    { apiGroups: ['clusterpedia.io'], resources: ['*'], verbs: ['get', 'list'] },
  ];
  await site.hub.apply(...grantedClusterRole('test-search', search, userSubject('alice')));
  const caPem = site.authority.certPem;
  const [service, own] = aggregationObjects(site.gateway.port, caPem, ['search.portcullis.io']) as Record<
    string,
    unknown
  >[];
  const clusterpedia = {
    ...own,
    metadata: { name: 'v1beta1.clusterpedia.io' },
    spec: { ...(own!['spec'] as object), group: 'clusterpedia.io', version: 'v1beta1' },
  };
  await site.hub.apply(service!, own!, clusterpedia);
  alice = hubSide(site, 'alice');
  bob = hubSide(site, 'bob');
  for (const path of [proxy, resources]) {
    await eventually(
      `${path} through the hub`,
      async () => {
        const { code, stdout, stderr } = await alice.run(
          ['get', '--raw', `${path}/api/v1/namespaces/team-a/configmaps`],
          {
            silent: true,
          },
        );
        if (code !== 0 || !stdout.includes('"there"'))
          throw new Error(`${stderr}${stdout}\n${site.gateway.log().slice(-1500)}`);
        return true;
      },
      { timeoutMs: 30_000, everyMs: 500 },
    );
  }
});

after(async () => {
  for (const side of [alice, bob]) side?.end();
  await site?.stop();
});

const through = (path: string): readonly string[] => ['--server', site.hub.url + path];

test("kubectl uses the index through a hub with the hub's token, and who has no right on the hub is refused there", async () => {
  const listed = await alice.run([...through(proxy), 'get', 'configmaps', '-n', 'team-a']);
  assert.equal(listed.code, 0, listed.stderr);
  assert.match(listed.stdout, /^CLUSTER\s+NAME\s+DATA\s+AGE\n(.*\n)*m1\s+there\s+0/m);
  const types = await alice.run([...through(proxy), 'api-resources', '--verbs=watch', '-o', 'name']);
  const named = types.stdout.trim().split('\n');
  assert.ok(named.includes('configmaps') && named.includes('services'), types.stdout);
  // The index holds ConfigMaps alone; the cluster answers for the other types.
  const live = await alice.run([...through(proxy), 'get', 'services', '-n', 'default']);
  assert.match(live.stdout, /m1\s+kubernetes\s/);
  assert.match(live.stderr, /services are not in the index, so the clusters themselves were asked/);
  const refused = await bob.run(['get', '--raw', `${proxy}/api/v1/configmaps`]);
  assert.notEqual(refused.code, 0);
  assert.match(refused.stderr, /Forbidden|forbidden/);
});

test('a watch by the native path outlives what a hub gives to a short request', async () => {
  const watching = alice.start([...through(proxy), 'get', 'configmaps', '-n', 'team-a', '-w', '--output-watch-events']);
  await watching.until(/ADDED\s+m1\s+there/);
  const startedMs = performance.now();
  for (let i = 0; performance.now() - startedMs < watchMs; i += 1) {
    await m1.apply(configMap(`later-${i}`));
    await watching.until(new RegExp(`ADDED\\s+m1\\s+later-${i}\\s`));
    await delay(8_000);
  }
  assert.equal(watching.child.exitCode, null);
  await watching.stop();
});

test("Clusterpedia's path ends a watch before the hub would, with a bookmark that is good to go on from", async () => {
  const path = `${resources}/api/v1/namespaces/team-a/configmaps?watch=1&allowWatchBookmarks=true`;
  const { code, stdout, stderr } = await alice.run(['get', '--raw', path]);
  assert.equal(code, 0, stderr);
  const events = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { type: string; object: { metadata: { resourceVersion: string } } });
  const last = events.at(-1)!;
  assert.equal(last.type, 'BOOKMARK');
  await m1.apply(configMap('after-the-end'));
  const more = await alice.run(['get', '--raw', `${path}&resourceVersion=${last.object.metadata.resourceVersion}`]);
  assert.match(more.stdout, /"ADDED".*after-the-end/);
  assert.doesNotMatch(more.stdout, /"name":"there"/);
});
