// Real kubectl against the simulator: what the gateway tests and the demo rely on. kubectl keeps discovery in HOME, so
// each run has its own.
import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { startSimulator, type Simulator } from '../../../sim/server.ts';
import { tempDir } from '../../pretend/temp-dir.ts';

function kubectlVersion(): string | undefined {
  try {
    const text = execFileSync('kubectl', ['version', '--client', '-o', 'json'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    return JSON.parse(text).clientVersion.gitVersion;
  } catch {
    return undefined;
  }
}

const version = kubectlVersion();
const skip = version === undefined ? 'no kubectl on PATH' : false;

interface Result {
  readonly out: string;
  readonly err: string;
  readonly code: number;
}

describe(`kubectl ${version ?? ''} on the simulator`, { skip, concurrency: 2 }, () => {
  let sim: Simulator;
  const home = tempDir('sim-kubectl');

  before(async () => {
    sim = await startSimulator({ controllers: { podStartMs: 5, podStopMs: 5, jobRunMs: 5 }, logPeriodMs: 50 });
    sim.addToken('alice', { name: 'alice', groups: ['dev'], uid: 'u-1', extra: { team: ['red'] } });
    await writeFile(join(home, 'ca.crt'), sim.caPem);
  });
  after(async () => {
    await sim.close();
  });

  function run(
    args: readonly string[],
    options: { readonly input?: string; readonly token?: string; readonly env?: Record<string, string> } = {},
  ): Promise<Result> {
    const common = [
      '--server',
      sim.url,
      '--certificate-authority',
      join(home, 'ca.crt'),
      '--token',
      options.token ?? sim.adminToken,
    ];
    // A hundred short-lived processes: without collecting garbage and on one thread each costs two thirds.
    const thrift = { GOGC: 'off', GOMAXPROCS: '1' };
    const env = { PATH: process.env['PATH'], HOME: home, KUBECONFIG: join(home, 'none'), ...thrift, ...options.env };
    return new Promise((resolve) => {
      const child = execFile('kubectl', [...common, ...args], { env }, (error, out, err) => {
        resolve({ out, err, code: error === null ? 0 : typeof error.code === 'number' ? error.code : -1 });
      });
      child.stdin?.end(options.input ?? '');
    });
  }

  /** Runs kubectl, which must succeed; its standard output. */
  async function ok(...args: string[]): Promise<string> {
    const { out, err, code } = await run(args);
    assert.equal(code, 0, `kubectl ${args.join(' ')}: ${err}`);
    return out;
  }

  async function apply(input: string, ...args: string[]): Promise<string> {
    const { out, err, code } = await run(['apply', '-f', '-', ...args], { input });
    assert.equal(code, 0, err);
    return out;
  }

  const manifest = (name: string, image = 'nginx:1', more = ''): string => `
apiVersion: apps/v1
kind: Deployment
metadata: {name: ${name}, labels: {app: ${name}}}
spec:
  replicas: 2
  selector: {matchLabels: {app: ${name}}}
  template:
    metadata: {labels: {app: ${name}}}
    spec: {containers: [{name: c, image: '${image}'}]}
${more}`;

  test('version, api-resources, api-versions, explain', async () => {
    assert.match(await ok('version'), /Server Version: v1\.36\.3/);
    const resources = await ok('api-resources', '-o', 'name');
    for (const name of [
      'pods',
      'deployments.apps',
      'leases.coordination.k8s.io',
      'customresourcedefinitions.apiextensions.k8s.io',
    ])
      assert.ok(resources.split('\n').includes(name), name);
    assert.match(await ok('api-versions'), /^rbac\.authorization\.k8s\.io\/v1$/m);
    assert.match(await ok('explain', 'pod.spec.containers.image'), /Container image name/);
    assert.match(await ok('explain', 'deployment', '--recursive'), /matchExpressions/);
  });

  test('get in all its forms', async () => {
    await apply(manifest('forms'));
    await ok('rollout', 'status', 'deployment/forms', '--timeout=10s');
    assert.match(
      await ok('get', 'deployment', 'forms'),
      /^NAME +READY +UP-TO-DATE +AVAILABLE +AGE\nforms +2\/2 +2 +2 +\S+\n$/,
    );
    assert.match(await ok('get', 'pods', '-l', 'app=forms', '-o', 'wide'), /NOMINATED NODE +READINESS GATES\nforms-/);
    assert.match(await ok('get', 'deployment', 'forms', '-o', 'yaml'), /^ {4}app: forms$/m);
    assert.equal(JSON.parse(await ok('get', 'deployment', 'forms', '-o', 'json')).kind, 'Deployment');
    assert.equal(await ok('get', 'deployment', 'forms', '-o', 'jsonpath={.spec.replicas}'), '2');
    assert.match(
      await ok('get', 'nodes', '-o', 'custom-columns=N:.metadata.name', '--sort-by=.metadata.name'),
      /^N\nsim-node-1\nsim-node-2\n$/,
    );
    const names = (await ok('get', 'clusterroles', '-o', 'name', '--chunk-size=3')).split('\n');
    assert.ok(names.length > 30 && names.includes('clusterrole.rbac.authorization.k8s.io/view'));
    assert.match(
      await ok('get', 'pods', '-A', '--field-selector=status.phase=Running', '-l', 'app=forms'),
      /^NAMESPACE/,
    );
    assert.match(await ok('get', '--raw', '/readyz?verbose'), /readyz check passed/);
    assert.match(await ok('describe', 'deployment', 'forms'), /ScalingReplicaSet/);
    const missing = await run(['get', 'pod', 'none']);
    assert.deepEqual([missing.err, missing.code], ['Error from server (NotFound): pods "none" not found\n', 1]);
  });

  test('get --watch shows changes as they come', async () => {
    const watching = run([
      'get',
      'configmaps',
      '-w',
      '--request-timeout=2s',
      '--field-selector=metadata.name=watched',
      '-o',
      'name',
    ]);
    await new Promise<void>((resolve) => {
      const stop = sim.audit.subscribe((entry) => {
        if (entry.verb !== 'watch' || !entry.path.includes('watched')) return;
        stop();
        resolve();
      });
    });
    for (const value of ['1', '2'])
      sim.store.apply({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'watched' }, data: { value } });
    const { out } = await watching;
    assert.equal(out, 'configmap/watched\nconfigmap/watched\n');
  });

  test('apply, diff, patch by each type, set, label, annotate, replace', async () => {
    assert.equal(await apply(manifest('life')), 'deployment.apps/life created\n');
    assert.equal(await apply(manifest('life')), 'deployment.apps/life unchanged\n');
    const diff = await run(['diff', '-f', '-'], { input: manifest('life', 'nginx:2') });
    assert.equal(diff.code, 1);
    assert.match(diff.out, /^-\s+- image: nginx:1\n\+\s+- image: nginx:2$/m);
    assert.equal(
      await apply(manifest('life', 'nginx:2'), '--dry-run=server'),
      'deployment.apps/life configured (server dry run)\n',
    );
    const image = (): Promise<string> =>
      ok('get', 'deployment', 'life', '-o', 'jsonpath={.spec.template.spec.containers[*].image}');
    assert.equal(await image(), 'nginx:1');
    await ok(
      'patch',
      'deployment',
      'life',
      '-p',
      '{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"a"}]}}}}',
    );
    assert.equal(await image(), 'a');
    await ok(
      'patch',
      'deployment',
      'life',
      '--type=json',
      '-p',
      '[{"op":"replace","path":"/spec/template/spec/containers/0/image","value":"b"}]',
    );
    assert.equal(await image(), 'b');
    await ok('patch', 'deployment', 'life', '--type=merge', '-p', '{"metadata":{"annotations":{"x":"y"}}}');
    await ok('set', 'image', 'deployment/life', 'c=d');
    assert.equal(await image(), 'd');
    await ok('label', 'deployment', 'life', 'more=yes');
    await ok('annotate', 'deployment', 'life', 'x-');
    const metadata = JSON.parse(await ok('get', 'deployment', 'life', '-o', 'json')).metadata;
    assert.deepEqual([metadata.labels.more, metadata.annotations.x], ['yes', undefined]);
    const replaced = await run(['replace', '-f', '-'], { input: manifest('life', 'nginx:3') });
    assert.equal(replaced.out, 'deployment.apps/life replaced\n');
    const refused = await run(['apply', '-f', '-'], { input: manifest('life').replace('replicas', 'replicaz') });
    assert.match(refused.err, /strict decoding error: unknown field "spec.replicaz"/);
  });

  test('server-side apply: create, conflict, force, diff', async () => {
    assert.equal(await apply(manifest('ssa'), '--server-side'), 'deployment.apps/ssa serverside-applied\n');
    await ok('scale', 'deployment/ssa', '--replicas=3');
    const clash = await run(['apply', '--server-side', '-f', '-'], { input: manifest('ssa') });
    assert.match(clash.err, /Apply failed with 1 conflict: conflict with "kubectl".* using apps\/v1: \.spec\.replicas/);
    await apply(manifest('ssa'), '--server-side', '--force-conflicts');
    assert.equal(await ok('get', 'deployment', 'ssa', '-o', 'jsonpath={.spec.replicas}'), '2');
    const diff = await run(['diff', '--server-side', '-f', '-'], { input: manifest('ssa', 'nginx:2') });
    assert.deepEqual([diff.code, /\+\s+- image: nginx:2/.test(diff.out)], [1, true]);
  });

  test('rollout, scale, wait, delete, with lists and with WatchList', async () => {
    for (const [name, env] of [
      ['roll', { KUBE_FEATURE_WatchListClient: 'false' }],
      ['rollwatch', { KUBE_FEATURE_WatchListClient: 'true' }],
    ] as const) {
      const go = async (...args: string[]): Promise<string> => {
        const { out, err, code } = await run(args, { env });
        assert.equal(code, 0, `kubectl ${args.join(' ')}: ${err}`);
        return out;
      };
      await apply(manifest(name));
      assert.match(await go('rollout', 'status', `deployment/${name}`, '--timeout=10s'), /successfully rolled out/);
      await go('set', 'image', `deployment/${name}`, 'c=nginx:2');
      assert.match(await go('rollout', 'status', `deployment/${name}`, '--timeout=10s'), /successfully rolled out/);
      assert.match(await go('rollout', 'history', `deployment/${name}`), /\n1 .*\n2 /);
      await go('rollout', 'undo', `deployment/${name}`);
      await go('rollout', 'restart', `deployment/${name}`);
      await go('scale', `deployment/${name}`, '--replicas=1');
      await go('wait', '--for=jsonpath={.status.replicas}=1', `deployment/${name}`, '--timeout=10s');
      assert.equal(
        await go('wait', '--for=condition=Available', `deployment/${name}`, '--timeout=10s'),
        `deployment.apps/${name} condition met\n`,
      );
      await go('delete', 'deployment', name, '--cascade=foreground', '--wait', '--timeout=10s');
      assert.equal(sim.store.list('pods').filter((pod) => pod.metadata.labels?.['app'] === name).length, 0);
    }
    assert.ok(sim.audit.entries.some((entry) => entry.path.includes('sendInitialEvents=true')));
  });

  test('jobs, namespaces, custom resources come and go', async () => {
    await ok('create', 'job', 'hello', '--image=busybox', '--', 'echo', 'hi');
    assert.equal(
      await ok('wait', '--for=condition=complete', 'job/hello', '--timeout=10s'),
      'job.batch/hello condition met\n',
    );
    await ok('create', 'namespace', 'temporary');
    await ok('-n', 'temporary', 'create', 'configmap', 'c', '--from-literal=a=b');
    await ok('-n', 'temporary', 'run', 'p', '--image=nginx');
    await ok('delete', 'namespace', 'temporary', '--timeout=10s');
    assert.equal((await run(['get', 'namespace', 'temporary'])).code, 1);
    const definition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Gadget, plural: gadgets}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer}}}}}}}
`;
    await apply(definition);
    await ok('wait', '--for=condition=Established', 'crd/gadgets.example.com', '--timeout=10s');
    const gadget = 'apiVersion: example.com/v1\nkind: Gadget\nmetadata: {name: g}\nspec: {size: 1}\n';
    assert.equal(await apply(gadget), 'gadget.example.com/g created\n');
    assert.match(await ok('get', 'gadgets'), /^NAME +AGE\ng /);
    await ok('delete', 'crd', 'gadgets.example.com', '--timeout=10s');
  });

  test('cordon, drain, uncordon; tokens, events, expose', async () => {
    await ok('create', 'namespace', 'drained');
    await ok('-n', 'drained', 'create', 'deployment', 'd', '--image=nginx');
    await ok('-n', 'drained', 'rollout', 'status', 'deployment/d', '--timeout=10s');
    const [pod] = sim.store.list('pods', 'drained');
    const node: string = pod?.['spec'].nodeName ?? '';
    await ok('drain', node, '--pod-selector=app=d', '--timeout=10s');
    assert.match(await ok('get', 'node', node), /Ready,SchedulingDisabled/);
    await ok('uncordon', node);
    await ok('-n', 'drained', 'expose', 'deployment', 'd', '--port=80');
    assert.match(await ok('-n', 'drained', 'get', 'service', 'd'), /ClusterIP +10\.96\./);
    assert.match(await ok('-n', 'drained', 'events'), /SuccessfulCreate/);
    const token = (await ok('-n', 'drained', 'create', 'token', 'default')).trim();
    const who = await run(['auth', 'whoami', '-o', 'jsonpath={.status.userInfo.username}'], { token });
    assert.equal(who.out, 'system:serviceaccount:drained:default');
  });

  test('auth whoami, can-i, and --as by the rules of kube-apiserver', async () => {
    const whoami = await run(['auth', 'whoami'], { token: 'alice' });
    assert.match(whoami.out, /Username +alice\nUID +u-1\nGroups +\[dev system:authenticated\]\nExtra: team +\[red\]/);
    const can = await run(['auth', 'can-i', 'list', 'pods'], { token: 'alice' });
    assert.deepEqual([can.out.trim(), can.code], ['no', 1]);
    assert.match(
      (await run(['auth', 'can-i', '--list'], { token: 'alice' })).out,
      /selfsubjectreviews\.authentication\.k8s\.io/,
    );
    assert.equal((await run(['auth', 'can-i', '*', '*', '--all-namespaces'])).out, 'yes\n');
    const denied = await run(['get', 'pods'], { token: 'alice' });
    assert.match(
      denied.err,
      /pods is forbidden: User "alice" cannot list resource "pods" in API group "" in the namespace "default"/,
    );
    const asBob = await run(['get', 'pods', '--as', 'bob'], { token: 'alice' });
    assert.match(
      asBob.err,
      /users "bob" is forbidden: User "alice" cannot impersonate resource "users" in API group "" at the cluster scope/,
    );
    const reviewed = await ok('auth', 'whoami', '--as', 'bob', '--as-group', 'ops', '--as-uid', '7', '-o', 'json');
    const { username, uid, groups } = JSON.parse(reviewed).status.userInfo;
    assert.deepEqual([username, uid, groups], ['bob', '7', ['ops', 'system:authenticated']]);
  });

  test('logs, exec and cp reach a container', async () => {
    await ok('run', 'box', '--image=busybox');
    await ok('wait', '--for=condition=Ready', 'pod/box', '--timeout=10s');
    assert.equal((await run(['exec', '-i', 'box', '--', 'cat'], { input: 'through\n' })).out, 'through\n');
    assert.equal((await run(['exec', 'box', '--', 'sh', '-c', 'exit 5'])).code, 5);
    await writeFile(join(home, 'file'), 'content\n');
    await ok('cp', join(home, 'file'), 'box:/tmp/file');
    assert.equal(await ok('exec', 'box', '--', 'cat', '/tmp/file'), 'content\n');
    assert.equal((await run(['logs', 'box', '--tail=5'])).code, 0);
  });
});
