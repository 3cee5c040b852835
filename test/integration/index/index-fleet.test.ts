// Numbers of all clusters, and kubectl top's requests, where the gateway has rules of its own: a user to whom they give
// one cluster learns nothing of another, and a user to whom they do not give the page does not get it.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { JsonObject } from '../../../sim/model/types.ts';
import { eventually } from '../../site/polling.ts';
import { binding, startIndexSite } from './index-site.ts';
import type { IndexSite } from './index-site.ts';
import { customResource } from '../../site/custom-resource.ts';
import { rulesText } from '../../site/site.ts';
import { tempDir } from '../../pretend/temp-dir.ts';

const proxy = '/apis/search.portcullis.io/v1alpha1/indexes/default/proxy';
const podMetrics = `${proxy}/apis/metrics.k8s.io/v1beta1/pods`;

const folder = tempDir('fleet');
let site: IndexSite;

const definition = customResource('pods.metrics.k8s.io', 'PodMetrics', { versions: ['v1beta1'] });

function seedOf(cluster: string): readonly JsonObject[] {
  const labels = { app: 'web' };
  return [
    binding('admin', 'cluster-admin', 'admin'),
    binding('team', 'cluster-admin', 'team'),
    definition,
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } },
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: `of-${cluster}`, namespace: 'shop' },
      spec: {
        replicas: 2,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'c' }] } },
      },
    },
    {
      apiVersion: 'metrics.k8s.io/v1beta1',
      kind: 'PodMetrics',
      metadata: { name: `of-${cluster}`, namespace: 'shop' },
      containers: [{ name: 'c', usage: { cpu: '1m', memory: '1Mi' } }],
    },
    ...(cluster === 'alpha' ? [pod('waits', 'Pending')] : inventedPhases),
  ];
}

function pod(name: string, phase: string): JsonObject {
  const spec = { containers: [{ name: 'c', image: 'c' }] };
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace: 'shop' }, spec, status: { phase } };
}

/** Phases that Kubernetes does not have, each of two pods. */
const inventedPhases = Array.from({ length: 60 }, (_, i) => pod(`p${i}`, `Phase-${Math.floor(i / 2)}`));

function rulesFile(): string {
  const everything = { verbs: ['*'], apiGroups: ['*'], resources: ['*'] };
  const ofIndex = { verbs: ['get'], apiGroups: ['search.portcullis.io'], resources: ['indexes/proxy'] };
  const rules = [
    { subjects: [{ kind: 'User', name: 'admin' }], ...everything, nonResourceURLs: ['*'] },
    { subjects: [{ kind: 'User', name: 'team' }], ...everything, clusters: ['alpha'] },
    { subjects: [{ kind: 'User', name: 'team' }], verbs: ['get'], nonResourceURLs: ['/metrics/fleet'] },
    { subjects: ['team', 'reader'].map((name) => ({ kind: 'User', name })), ...ofIndex },
  ];
  const file = join(folder, 'rules.yaml');
  writeFileSync(file, rulesText(rules), { mode: 0o600 });
  return file;
}

before(async () => {
  const seeds = { alpha: seedOf('alpha'), beta: seedOf('beta') };
  site = await startIndexSite(['admin', 'team', 'reader'], seeds, {
    indexResources: 'pods,deployments.apps,nodes',
    authorizationRules: rulesFile(),
  });
  await eventually('both are indexed', async () => {
    const { text } = await site.ask('/metrics/fleet');
    return ['alpha', 'beta'].every((name) => text.includes(`portcullis_fleet_cluster_current{cluster="${name}"} 1\n`));
  });
});
after(async () => {
  await site?.close();
});

test('a user whom the rules give one cluster gets the numbers of that cluster alone', async () => {
  const all = (await site.ask('/metrics/fleet')).text;
  for (const cluster of ['alpha', 'beta']) {
    const labels = `cluster="${cluster}",namespace="shop",deployment="of-${cluster}"`;
    assert.ok(all.includes(`kube_deployment_spec_replicas{${labels}} 2\n`), all);
    assert.ok(
      all.includes(`kube_node_status_condition{cluster="${cluster}",condition="Ready",status="true"} 2\n`),
      all,
    );
  }
  const mine = await site.ask('/metrics/fleet', 'team');
  assert.equal(mine.status, 200);
  assert.ok(mine.text.includes('kube_deployment_spec_replicas{cluster="alpha"'));
  assert.doesNotMatch(mine.text + JSON.stringify(mine.headers), /beta/);
});

test('a cluster that invents phases of pods hides none of another', async () => {
  const { text } = await site.ask('/metrics/fleet');
  const phases = text.split('\n').filter((line) => line.startsWith('kube_pod_status_phase{'));
  assert.deepEqual(phases, ['kube_pod_status_phase{cluster="alpha",namespace="shop",phase="Pending"} 1']);
});

test('a user whom the rules do not give the page is refused, and so are writes to it', async () => {
  assert.equal((await site.ask('/metrics/fleet', 'reader')).status, 403);
  assert.equal((await site.ask('/metrics/fleet', 'stranger')).status, 401);
  assert.equal((await site.ask('/metrics/fleet', 'admin', { method: 'POST', body: {} })).status, 405);
  assert.equal((await site.ask('/metrics/fleet/more')).status, 404);
});

test('metrics of pods come from the clusters that the rules give, as lists and gets through these clusters do', async () => {
  const namesOf = async (user: string): Promise<readonly string[]> => {
    const answer = await site.ask(podMetrics, user);
    assert.equal(answer.status, 200, answer.text);
    return answer.json<{ items: { metadata: { name: string } }[] }>().items.map((item) => item.metadata.name);
  };
  assert.deepEqual(await namesOf('admin'), ['of-alpha', 'of-beta']);
  assert.deepEqual(await namesOf('team'), ['of-alpha']);
  assert.deepEqual(await namesOf('reader'), []);
  const all = await site.ask(`${podMetrics}?clusters=`);
  assert.equal(all.json<{ items: unknown[] }>().items.length, 2, 'an empty parameter chooses nothing');
  const inBeta = `${proxy}/clusters/beta/apis/metrics.k8s.io/v1beta1/namespaces/shop/pods/of-beta`;
  assert.equal((await site.ask(inBeta)).status, 200);
  assert.equal((await site.ask(inBeta, 'team')).status, 403);
});

test('a watch of metrics is 405, of all clusters and of one, also of one pod by its name', async () => {
  const one = 'namespaces/shop/pods/of-beta';
  for (const below of ['', '/clusters/beta'])
    for (const path of ['pods', one])
      for (const flag of ['watch=true', 'watch=1', 'watch=True']) {
        const answer = await site.ask(`${proxy}${below}/apis/metrics.k8s.io/v1beta1/${path}?${flag}`);
        assert.equal(answer.status, 405, `${below} ${path} ${flag}`);
        assert.match(answer.text, /"kind":"Status".*cannot be watched/);
      }
  for (const below of ['', '/clusters/beta']) {
    const old = await site.ask(`${proxy}${below}/apis/metrics.k8s.io/v1beta1/watch/pods`);
    assert.ok(old.status === 404 || old.status === 405, `${old.status}`);
  }
  assert.equal((await site.ask(`${podMetrics}?watch=false`)).status, 200);
});

/** What discovery of the index lists of resource metrics. @param below the path of one cluster, or '' */
async function listed(user = 'admin', below = ''): Promise<readonly string[]> {
  const accept = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
  const { items } = (await site.ask(`${proxy}${below}/apis`, user, { headers: { accept } })).json<{
    items: { metadata: { name: string }; versions: { resources: { resource: string; verbs: string[] }[] }[] }[];
  }>();
  const found = items.find(({ metadata: { name } }) => name === 'metrics.k8s.io')?.versions[0]!.resources ?? [];
  return found.map(({ resource, verbs }) => `${resource} ${verbs.join()}`);
}

test('discovery of the index lists the resource metrics that a cluster serves, to those who may read them there', async () => {
  // No cluster serves those of nodes.
  for (const below of ['', '/clusters/alpha', '/clusters/beta'])
    assert.deepEqual(await listed('admin', below), ['pods get,list'], below);
  assert.deepEqual(await listed('team'), ['pods get,list']);
  assert.deepEqual(await listed('reader'), []);
  const path = `${proxy}/apis/metrics.k8s.io/v1beta1`;
  assert.equal((await site.ask(path)).json<{ kind: string }>().kind, 'APIResourceList');
  assert.equal((await site.ask(path, 'reader')).status, 404);
  assert.equal((await site.ask(`${path}/nodes`)).status, 404);
});

test('resource metrics leave discovery with the last cluster that serves them, and no user sees those of another', async () => {
  const crd = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/pods.metrics.k8s.io';
  const remove = async (cluster: string): Promise<void> =>
    assert.equal((await site.ask(`/clusters/${cluster}/proxy${crd}`, 'admin', { method: 'DELETE' })).status, 200);
  await remove('alpha');
  await eventually('alpha has none', async () => (await listed('admin', '/clusters/alpha')).length === 0);
  assert.deepEqual(await listed(), ['pods get,list'], 'beta has');
  assert.deepEqual(await listed('team'), [], 'who may not reach beta is not told of it');
  await remove('beta');
  await eventually('no cluster has', async () => (await listed()).length === 0);
  assert.equal((await site.ask(`${proxy}/apis/metrics.k8s.io/v1beta1`)).status, 404);
});
