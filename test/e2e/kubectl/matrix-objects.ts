// Objects and commands of the kubectl matrix that need no node: reading, writing, patching, rights. Each command runs
// on both sides. A command whose output depends on timing waits for a state first, in a silent command.
import type { Side } from './sides.ts';

export type Scenario = (side: Side) => Promise<void>;

const configMaps = (names: readonly string[]): string =>
  names
    .map(
      (name, index) =>
        `---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${name}\n  labels: {app: matrix, even: "${String(index % 2 === 0)}"}\ndata:\n  order: "${9 - index}"\n`,
    )
    .join('');

const deployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: web, image: "nginx:1.27"}]
`;

/** Reading and describing. */
export const reading: Scenario = async (side) => {
  const run = (...args: string[]) => side.run(args);
  await run('version');
  await run('cluster-info');
  await run('api-versions');
  await run('api-resources', '--sort-by=name');
  await run('explain', 'pods.spec.containers');
  await run('explain', 'deployments', '--recursive');
  await run('create', 'namespace', 'matrix');
  side.file('configmaps.yaml', configMaps(['a', 'b', 'c', 'd', 'e', 'f', 'g']));
  await run('apply', '-n', 'matrix', '-f', 'configmaps.yaml');
  // kube-root-ca.crt is made by a controller at its own time.
  await side.run(['wait', '-n', 'matrix', '--for=create', 'configmap/kube-root-ca.crt', '--timeout=30s'], {
    silent: true,
  });
  await run('get', 'configmaps', '-n', 'matrix', '-l', 'app=matrix');
  await run('get', 'configmaps', '-n', 'matrix', '-l', 'app=matrix', '-o', 'wide', '--show-labels');
  await run('get', 'configmaps', '-n', 'matrix', '-l', 'even=true', '-o', 'name');
  await run('get', 'configmaps', '-n', 'matrix', '--field-selector', 'metadata.name=c');
  await run('get', 'configmaps', '-n', 'matrix', '-l', 'app=matrix', '--chunk-size=3');
  await run('get', 'configmaps', '-n', 'matrix', '-l', 'app=matrix', '--sort-by=.data.order');
  await run('get', 'configmap', 'a', '-n', 'matrix', '-o', 'yaml');
  await run('get', 'configmap', 'a', '-n', 'matrix', '-o', 'json');
  await run('get', 'configmaps', '-n', 'matrix', '-l', 'app=matrix', '-o', 'jsonpath={.items[*].metadata.name}');
  await run(
    'get',
    'configmaps',
    '-n',
    'matrix',
    '-l',
    'app=matrix',
    '-o',
    'custom-columns=NAME:.metadata.name,ORDER:.data.order',
  );
  await run('get', 'configmaps', '-A', '-l', 'app=matrix');
  await run('get', 'namespaces', 'matrix', 'nothing');
  await run('get', 'nothing');
  await run('describe', 'configmap', 'a', '-n', 'matrix');
  await run('get', '--raw', '/api/v1/namespaces/matrix');
  await run('get', '--raw', '/readyz');
  await run('get', '--raw', '/api/v1/namespaces/matrix/configmaps?limit=1&labelSelector=app%3Dmatrix');
  await run('auth', 'whoami');
  await run('auth', 'can-i', '--list', '-n', 'matrix');
  await run('auth', 'can-i', 'delete', 'nodes');
};

/** Writing in every way there is. */
export const writing: Scenario = async (side) => {
  const run = (...args: string[]) => side.run(args);
  const n = ['-n', 'matrix'];
  side.file('deployment.yaml', deployment);
  await run('apply', ...n, '-f', 'deployment.yaml', '--dry-run=server', '-o', 'name');
  await run('diff', ...n, '-f', 'deployment.yaml');
  await run('apply', ...n, '-f', 'deployment.yaml');
  // A rollout under way says something else each moment; one that is over does not.
  await run('wait', ...n, '--for=condition=Available', 'deployment/web', '--timeout=60s');
  await run('rollout', 'status', ...n, 'deployment/web', '--timeout=60s', '--watch=false');
  side.file('changed.yaml', deployment.replace('replicas: 2', 'replicas: 1'));
  await run('diff', ...n, '-f', 'changed.yaml');
  await run('apply', ...n, '--server-side', '-f', 'changed.yaml');
  await run('apply', ...n, '--server-side', '--force-conflicts', '-f', 'changed.yaml');
  await run('create', 'configmap', 'made', ...n, '--from-literal=k=v');
  await run('create', 'configmap', 'made', ...n, '--from-literal=k=v');
  await run('patch', 'configmap', 'made', ...n, '-p', '{"data":{"k":"strategic"}}');
  await run('patch', 'configmap', 'made', ...n, '--type=merge', '-p', '{"data":{"k":"merge"}}');
  await run(
    'patch',
    'configmap',
    'made',
    ...n,
    '--type=json',
    '-p',
    '[{"op":"replace","path":"/data/k","value":"json"}]',
  );
  await run(
    'patch',
    'configmap',
    'made',
    ...n,
    '--type=json',
    '-p',
    '[{"op":"test","path":"/data/k","value":"other"}]',
  );
  await run('get', 'configmap', 'made', ...n, '-o', 'jsonpath={.data}');
  await run('set', 'image', ...n, 'deployment/web', 'web=nginx:1.28');
  await run('set', 'env', ...n, 'deployment/web', 'A=b');
  await run('label', 'configmap', 'made', ...n, 'team=blue');
  await run('label', 'configmap', 'made', ...n, 'team=red');
  await run('label', 'configmap', 'made', ...n, 'team-');
  await run('annotate', 'configmap', 'made', ...n, 'note=hello');
  side.file(
    'replace.yaml',
    'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: made, namespace: matrix}\ndata: {k: replaced}\n',
  );
  await run('replace', '-f', 'replace.yaml');
  side.file('editor.sh', '#!/bin/sh\nsed -i "s/replaced/edited/" "$1"\n');
  await side.run(['edit', 'configmap', 'made', ...n], { env: { KUBE_EDITOR: `sh ${side.dir}/editor.sh` } });
  await run('get', 'configmap', 'made', ...n, '-o', 'jsonpath={.data}');
  await run('scale', ...n, 'deployment/web', '--replicas=3');
  await run('rollout', 'history', ...n, 'deployment/web');
  await run('rollout', 'pause', ...n, 'deployment/web');
  await run('rollout', 'resume', ...n, 'deployment/web');
  await run('rollout', 'undo', ...n, 'deployment/web');
  await run('create', 'serviceaccount', 'robot', ...n);
  const token = await side.run(['create', 'token', 'robot', ...n], { silent: true });
  side.outcomes.push({ ...token, stdout: token.stdout.replace(/^eyJ[\w-]+\.[\w-]+\.[\w-]+\n$/, 'a JWT') });
  await run('delete', 'deployment', 'web', ...n, '--cascade=foreground', '--timeout=60s');
  await run('delete', 'configmap', 'made', ...n);
  await run('delete', 'configmap', 'made', ...n);
  await run('wait', '--for=delete', 'configmap/made', ...n, '--timeout=10s');
  await run('create', '-f', 'replace.yaml', '--validate=strict');
  side.file('bad.yaml', 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: bad, namespace: matrix}\ndatum: {k: v}\n');
  await run('create', '-f', 'bad.yaml');
  side.file('invalid.yaml', 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: NOT_A_NAME, namespace: matrix}\n');
  await run('create', '-f', 'invalid.yaml');
};

/** Watches: what a user sees while something else changes. */
export const watching: Scenario = async (side) => {
  const n = ['-n', 'matrix'];
  for (const flags of [['-w'], ['--watch-only']]) {
    await side.run(['create', 'configmap', 'watched', ...n, '--from-literal=k=one']);
    const mark = await side.member.auditMark();
    const running = side.start(['get', 'configmap', 'watched', ...n, ...flags, '-o', 'jsonpath={.data.k}{"\\n"}']);
    if (flags[0] === '-w') await running.until(/one/);
    else
      await side.member.waitForAudit(
        (event) => event.verb === 'watch' && event.stage === 'ResponseStarted' && event.objectRef?.name === 'watched',
        { mark },
      );
    await side.run(['patch', 'configmap', 'watched', ...n, '-p', '{"data":{"k":"two"}}']);
    await running.until(/two/);
    await side.run(['delete', 'configmap', 'watched', ...n]);
    // kubectl prints an object that is deleted once more, as it was.
    await running.until(/two\n[^]*two\n/);
    await running.stop();
  }
  await side.run(['create', 'configmap', 'waited', ...n, '--from-literal=k=one']);
  const mark = await side.member.auditMark();
  const waiting = side.start(['wait', 'configmap/waited', ...n, '--for=jsonpath={.data.k}=two', '--timeout=30s'], {
    silent: true,
  });
  await side.member.waitForAudit((event) => event.verb === 'watch' && event.requestURI.includes('waited'), { mark });
  await side.run(['patch', 'configmap', 'waited', ...n, '-p', '{"data":{"k":"two"}}']);
  await waiting.until(/condition met/);
  await side.run(['wait', 'configmap/waited', ...n, '--for=jsonpath={.data.k}=three', '--timeout=1s']);
  await side.run(['events', ...n, '--types=Warning']);
  await side.run(['delete', 'namespace', 'matrix', '--timeout=60s']);
};
