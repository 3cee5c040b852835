// Manifests as charts make them, applied in real and simulated clusters at once. Only real kube-apiservers show whether
// a second run changes nothing, what a conflict says, and whether kubectl can go on with a set.
// Landing tier: manifests applied to many clusters from one command.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';

import { eventually } from '../../site/polling.ts';
import { startApplySite } from './apply-site.ts';
import type { ApplySite } from './apply-site.ts';

interface Report {
  readonly summary: Readonly<Record<string, number>>;
  readonly clusters: readonly {
    readonly name: string;
    readonly status: string;
    readonly reason?: string;
    readonly objects: readonly { readonly kind: string; readonly name: string; readonly result: string }[];
    readonly deleted: readonly string[];
  }[];
}

let site: ApplySite;
/** The charts, which tests may change. */
let charts: string;

before(async () => {
  site = await startApplySite();
  charts = site.folder();
  cpSync(join(import.meta.dirname, 'charts'), charts, { recursive: true });
});
after(() => site?.stop());

const answering = ['--cluster-selector', 'kind in (real,simulated)'];
const release = (): readonly string[] => ['-f', charts, '-n', 'shop', '--set', 'release', ...answering];

async function report(command: string, args: readonly string[], code = 0): Promise<Report> {
  const result = await site.run(command, [...args, '-o', 'json']);
  assert.equal(result.code, code, result.stderr);
  return JSON.parse(result.stdout) as Report;
}

/** How often each result came, over all clusters. */
function results({ clusters }: Report): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { result } of clusters.flatMap(({ objects }) => objects)) counts[result] = (counts[result] ?? 0) + 1;
  return counts;
}

/** What a run changed, as `cluster Kind/name`. */
function changedIn({ clusters }: Report): readonly string[] {
  return clusters.flatMap(({ name: cluster, objects }) =>
    objects.filter(({ result }) => result !== 'unchanged').map(({ kind, name }) => `${cluster} ${kind}/${name}`),
  );
}

/** Names of a kind's objects in the namespace shop of a real cluster. */
async function namesIn(member: string, resource: string): Promise<readonly string[]> {
  const { body } = await site.plane.member(member).request('GET', `/api/v1/namespaces/shop/${resource}`);
  const { items } = JSON.parse(body) as { readonly items: readonly { readonly metadata: { readonly name: string } }[] };
  return items.map(({ metadata }) => metadata.name);
}

test('the first run makes everything in order, the second changes nothing, and there is no diff then', async () => {
  const before = await site.run('diff', release());
  assert.equal(before.code, 0, before.stderr);
  assert.match(before.stdout, /^\+\+\+ applied\/deployment\.apps\/web$/m);
  assert.doesNotMatch(before.stdout + before.stderr, /correct-horse|Y29ycmVjdC1ob3JzZQ|YWRtaW4=/);
  assert.equal((await site.plane.member('m1').request('GET', '/api/v1/namespaces/shop')).status, 404);

  const first = await report('apply', release());
  assert.deepEqual(results(first), { created: 19 * site.names.length });
  assert.deepEqual(
    first.clusters[0]?.objects.slice(0, 3).map(({ kind }) => kind),
    ['Namespace', 'Namespace', 'CustomResourceDefinition'],
  );
  assert.deepEqual(
    [first.summary['clusters'], first.summary['done'], first.clusters.map(({ name }) => name).toSorted().length],
    [22, 22, 22],
  );

  const second = await report('apply', release());
  assert.deepEqual(changedIn(second), []);
  const diff = await site.run('diff', release());
  assert.deepEqual([diff.code, diff.stdout], [0, ''], diff.stderr);
});

test('what is applied is what the charts say, the mode of a file in the notation of YAML 1.1 too', async () => {
  const { body } = await site.plane.member('m2').request('GET', '/apis/apps/v1/namespaces/shop/deployments/web');
  const { spec } = JSON.parse(body) as {
    spec: { template: { spec: { volumes: { configMap: { defaultMode: number } }[] } } };
  };
  assert.equal(spec.template.spec.volumes[0]?.configMap.defaultMode, 0o440);
  const secret = await site.plane.member('m2').request('GET', '/api/v1/namespaces/shop/secrets/web');
  const { data } = JSON.parse(secret.body) as { data: Record<string, string> };
  assert.deepEqual(data, { user: 'YWRtaW4=', password: Buffer.from('correct-horse').toString('base64') });
});

test('a diff shows what changes once for all clusters, and no value of a Secret', async () => {
  const changed = site.folder();
  cpSync(charts, changed, { recursive: true });
  const web = readFileSync(join(changed, 'web.yaml'), 'utf8');
  writeFileSync(
    join(changed, 'web.yaml'),
    web.replace('correct-horse', 'battery-staple').replace('nginx:1.29', 'nginx:1.30'),
  );
  const flags = ['-f', changed, '-n', 'shop', '--set', 'release', '--cluster-selector', 'kind=real'];
  const { code, stdout, stderr } = await site.run('diff', flags);
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^# m1, m2\n--- live\/secret\/web\n\+\+\+ applied\/secret\/web\n/m);
  assert.match(stdout, /^- {2}password: "\*\*\* \(before\)"\n\+ {2}password: "\*\*\* \(after\)"\n {3}user: "\*\*\*"$/m);
  assert.match(stdout, /^- +image: nginx:1\.29\n\+ +image: nginx:1\.30$/m);
  assert.doesNotMatch(stdout + stderr, /battery|YmF0dGVyeS1zdGFwbGU|correct|managedFields|resourceVersion/);
});

test('a conflict names the object, the manager and the field, and costs only that cluster', async () => {
  const scaled = await site.plane
    .member('m1')
    .request(
      'PATCH',
      '/apis/apps/v1/namespaces/shop/deployments/web?fieldManager=night-shift&force=true',
      { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'web' }, spec: { replicas: 4 } },
      { 'content-type': 'application/apply-patch+yaml' },
    );
  assert.equal(scaled.status, 200, scaled.body);
  const { code, stdout, stderr } = await site.run('apply', [...release()]);
  assert.equal(code, 1);
  assert.match(
    stderr,
    /^m1: deployment\.apps\/web: conflict: "night-shift" manages \.spec\.replicas; --force-conflicts/m,
  );
  assert.match(stderr, /^portcullis: 1 of 22 clusters failed: m1\n/m);
  assert.match(stdout, /^m1 +failed +18 unchanged, 1 failed$/m);
  assert.match(stdout, /^m2 +done +19 unchanged$/m);
  const forced = await report('apply', [...release(), '--force-conflicts']);
  assert.deepEqual(results(forced), { configured: 1, unchanged: 19 * 22 - 1 });
});

test('a cluster that is gone costs its own line only', async () => {
  const { code, stdout, stderr } = await site.run('apply', [
    ...['-f', join(charts, 'namespaces.yaml'), '--set', 'release', '-n', 'shop', '--clusters', 'gone,m1'],
  ]);
  assert.equal(code, 1);
  assert.match(stdout, /^gone +failed +-$/m);
  assert.match(stdout, /^m1 +done +1 unchanged$/m);
  assert.match(stderr, /^gone: failed: .*\(50\d\); 1 objects were not tried$/m);
});

test('pruning removes exactly what left the set, and refuses to remove most of it', async () => {
  const batch = join(charts, 'batch.json');
  const list = JSON.parse(readFileSync(batch, 'utf8')) as { items: { metadata: { name: string } }[] };
  const rest = { ...list, items: list.items.filter(({ metadata }) => metadata.name !== 'batch-old') };
  writeFileSync(batch, JSON.stringify(rest));
  const before = await namesIn('m1', 'configmaps');
  const pruned = await report('apply', [...release(), '--prune']);
  assert.deepEqual(results(pruned), { unchanged: 18 * 22 });
  assert.ok(pruned.clusters.every(({ deleted }) => deleted.join() === 'configmap/batch-old'));
  const gone = before.filter((name) => name !== 'batch-old');
  assert.deepEqual([before.length - gone.length, await namesIn('m1', 'configmaps')], [1, gone]);

  const one = ['-f', join(charts, 'namespaces.yaml'), '-n', 'shop', '--set', 'release', '--prune', ...answering];
  const refused = await report('apply', one, 1);
  assert.ok(
    refused.clusters.every(({ reason }) => reason?.includes('--allow-large-prune')),
    String(refused.clusters[0]?.reason),
  );
  assert.deepEqual(await namesIn('m2', 'configmaps'), gone);
});

test('kubectl prunes the same set, and this command what kubectl applied', async () => {
  const member = site.plane.member('m1');
  const kubectl = async (files: readonly string[]): Promise<string> => {
    const args = ['apply', '--server-side', '--prune', '--applyset=mixed', '-n', 'shop', '--force-conflicts'];
    const result = await member.kubectl([...args, ...files.flatMap((file) => ['-f', file])], {
      env: { KUBECTL_APPLYSET: 'true' },
    });
    assert.equal(result.code, 0, result.stderr);
    return result.stdout;
  };
  const folder = site.folder();
  const files = ['one', 'two', 'three', 'four'].map((name) => {
    const file = join(folder, `${name}.json`);
    writeFileSync(file, JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: `mixed-${name}` } }));
    return file;
  });
  const flags = ['-n', 'shop', '--set', 'mixed', '--clusters', 'm1', '--prune'];
  await report('apply', ['-f', folder, ...flags]);
  assert.match(await kubectl(files.slice(0, 3)), /configmap\/mixed-four pruned/);
  const again = await report('apply', [...files.slice(0, 2).flatMap((file) => ['-f', file]), ...flags]);
  assert.deepEqual(again.clusters[0]?.deleted, ['configmap/mixed-three']);
  await report('delete', flags.slice(0, -1));
  assert.deepEqual(
    (await namesIn('m1', 'configmaps')).filter((name) => name.startsWith('mixed')),
    [],
  );
  assert.ok(!(await namesIn('m1', 'secrets')).includes('mixed'));
});

test('Ctrl-C ends in good order, and --resume leaves out what is done', async () => {
  const folder = site.folder();
  for (let i = 0; i < 60; i++) {
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: `many-${String(i).padStart(3, '0')}` } };
    writeFileSync(join(folder, `${i}.json`), JSON.stringify(object));
  }
  const flags = ['-f', folder, '-n', 'shop', ...answering, '--parallel', '2'];
  const child = site.start('apply', flags);
  let said = '';
  child.stderr!.setEncoding('utf8').on('data', (text: string) => (said += text));
  const closed = once(child, 'close');
  await eventually('the first cluster is done', () => /: 60 created$/m.test(said));
  child.kill('SIGINT');
  assert.deepEqual(await closed, [1, null], said);
  assert.match(
    said,
    /^portcullis: stopped: \d+ of 22 clusters are not done\nRun the same command again with --resume\.$/m,
  );
  const done = [...said.matchAll(/^(\S+): 60 created$/gm)].map(([, name]) => name!);
  assert.ok(done.length > 0 && done.length < 22, `${done.length} were done`);
  const resumed = await report('apply', [...flags, '--resume']);
  assert.deepEqual(
    resumed.clusters.filter(({ status }) => status === 'skipped').map(({ name }) => name),
    done.toSorted(),
  );
  assert.ok(resumed.clusters.every(({ status }) => status === 'skipped' || status === 'done'));
  assert.equal((await namesIn('m2', 'configmaps')).filter((name) => name.startsWith('many-')).length, 60);
});

test('on a terminal of 80 columns every line fits, while it is drawn and at the end', async () => {
  const { code, stdout } = await site.runOnTerminal('apply', [...release(), '--parallel', '5']);
  assert.equal(code, 0, stdout);
  assert.match(stdout, /\[#+-*\] \d+ of 22 clusters/);
  const lines = stdout.replaceAll(/\u001b\[\d*[A-Za-z]/g, '').split(/[\r\n]+/);
  assert.ok(lines.length > 50);
  assert.deepEqual(
    lines.filter((line) => [...line].length > 80),
    [],
  );
});

test('--wait ends when everything is ready, and says what is not', async () => {
  const flags = ['-n', 'shop', '--set', 'release', '--cluster-selector', 'kind=real', '--wait'];
  const ready = await report('apply', ['-f', charts, ...flags]);
  assert.equal(ready.summary['done'], 2);
  const folder = site.folder();
  cpSync(charts, folder, { recursive: true });
  const web = readFileSync(join(folder, 'web.yaml'), 'utf8');
  const nowhere = web.replace('      serviceAccountName: web', '      nodeSelector: { nowhere: "true" }\n$&');
  writeFileSync(join(folder, 'web.yaml'), nowhere);
  const { code, stderr } = await site.run('apply', ['-f', folder, ...flags, '--timeout', '5s']);
  assert.equal(code, 1);
  assert.match(stderr, /^m1: failed: deployment\.apps\/web is not ready: .*(?:old replicas|updated|available)/m);
});

test('delete takes away everything of a set, and the set', async () => {
  const flags = ['--set', 'release', '-n', 'shop', ...answering];
  const deleted = await report('delete', flags);
  assert.ok(
    deleted.clusters.every((each) => each.deleted.length === 18),
    JSON.stringify(deleted.clusters[0]),
  );
  for (const name of ['m1', 'm2']) {
    await eventually(`${name} has no shop`, async () => {
      const { status } = await site.plane.member(name).request('GET', '/api/v1/namespaces/shop');
      return status === 404;
    });
  }
  assert.equal((await report('delete', flags)).summary['done'], 22);
});
