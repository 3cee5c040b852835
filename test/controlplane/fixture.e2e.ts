// Proves the fixture itself with real kubectl straight against a member: what fails here is not the gateway's fault.
// Run by `node --test test/controlplane/fixture.e2e.ts`, never by `npm test`: the first run builds Kubernetes.
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';

import { startControlPlane, type CommandResult, type ControlPlane, type Member } from './fixture.ts';
import { kubeletPlacement } from './objects.ts';
import { runCommand } from './processes.ts';
import { startForward, startKubectl, type KubectlStream } from './streams.ts';
import { tempDir } from '../pretend/temp-dir.ts';

const kubeletPod = (name: string, spec: object): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, labels: { app: name } },
  spec: { nodeName: 'kubelet-0', terminationGracePeriodSeconds: 1, ...spec },
});

let plane: ControlPlane;
let member: Member;
const folder = tempDir('e2e');

before(async () => {
  plane = await startControlPlane({ members: ['m1', 'm2'], controllerManager: true, kwok: true, kubelet: true });
  member = plane.member('m1');
  await member.apply(
    kubeletPod('box', {
      containers: [{ name: 'main', image: 'example.test/box', ports: [{ containerPort: 8080 }] }],
    }),
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'box' },
      spec: { selector: { app: 'box' }, ports: [{ port: 80, targetPort: 8080 }] },
    },
  );
  await ok('wait', '--for=condition=Ready', 'pod/box', '--timeout=20s');
});

after(async () => {
  await plane?.stop();
});

/** Runs kubectl as admin, expects success, returns its output. */
async function ok(...args: readonly string[]): Promise<string> {
  const result = await member.kubectl(args);
  assert.equal(result.code, 0, `kubectl ${args.join(' ')}: ${result.stderr}\n${await plane.logs()}`);
  return result.stdout;
}

function sha256(data: Uint8Array): string {
  return createHash('sha256').update(data).digest('hex');
}

describe('members', () => {
  it('are clusters of their own: what one holds or trusts, the other does not', async () => {
    const [first, second] = plane.members;
    assert.ok(first !== undefined && second !== undefined);
    assert.notEqual(first.caPem, second.caPem);
    await first.apply({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'only-here', namespace: 'default' } });
    const there = await second.request('GET', '/api/v1/namespaces/default/configmaps/only-here');
    assert.equal(there.status, 404);
    const foreign = await second.kubectl([
      '--kubeconfig',
      first.gatewayKubeconfig,
      '--server',
      second.url,
      'get',
      'ns',
    ]);
    assert.match(foreign.stderr, /certificate signed by unknown authority/);
  });

  it('report their release, so that clients can compare versions', async () => {
    const version = JSON.parse(await ok('version', '-o', 'json')) as Record<string, { gitVersion: string }>;
    assert.equal(version['serverVersion']?.gitVersion, 'v1.36.3');
    assert.equal(version['clientVersion']?.gitVersion, 'v1.36.3');
  });

  it('let the gateway impersonate everything of a user and nothing else, and their audit log shows both', async () => {
    const mark = await member.auditMark();
    const as = ['--as=zoe', '--as-uid=u1', '--as-group=g1', '--as-user-extra=example.test/k=v'];
    const gateway = ['--kubeconfig', member.gatewayKubeconfig];
    const whoami = await member.kubectl([...gateway, ...as, 'auth', 'whoami', '-o', 'json']);
    assert.equal(whoami.code, 0, whoami.stderr);
    const seen = (JSON.parse(whoami.stdout) as { status: { userInfo: object } }).status.userInfo;
    const extra = { 'example.test/k': ['v'] };
    assert.deepEqual(seen, { username: 'zoe', uid: 'u1', groups: ['g1', 'system:authenticated'], extra });
    const itself = await member.kubectl([...gateway, 'get', 'pods']);
    assert.match(itself.stderr, /User "portcullis-gateway" cannot list resource "pods"/);
    const events = await member.waitForAudit((event) => event.user.username === 'portcullis-gateway', {
      mark,
      count: 2,
    });
    assert.equal(events[0]?.impersonatedUser?.username, 'zoe');
    assert.equal(events.at(-1)?.impersonatedUser, undefined);
  });

  it('give their users the rights that the interface promises', async () => {
    const can = async (user: 'alice' | 'bob' | 'carol', ...what: readonly string[]): Promise<string> =>
      (await member.kubectl(['--kubeconfig', member.users[user].kubeconfig, 'auth', 'can-i', ...what])).stdout.trim();
    assert.equal(await can('alice', 'create', 'deployments.apps', '-n', 'team-a'), 'yes');
    assert.equal(await can('alice', 'create', 'pods/exec', '-n', 'team-a'), 'yes');
    assert.equal(await can('alice', 'list', 'pods', '-n', 'default'), 'yes');
    assert.equal(await can('alice', 'delete', 'pods', '-n', 'default'), 'no');
    assert.equal(await can('alice', 'get', 'secrets', '-n', 'default'), 'no');
    assert.equal(await can('bob', 'list', 'pods', '-n', 'team-a'), 'no');
    assert.equal(await can('carol', 'delete', 'nodes'), 'yes');
  });
});

describe('kwok and the scheduler', () => {
  it('roll out a Deployment onto the kwok node and drain it again', async () => {
    await ok('create', 'deployment', 'web', '--image=nginx', '--replicas=3');
    await ok('rollout', 'status', 'deployment/web', '--timeout=30s');
    const nodes = await ok('get', 'pods', '-l', 'app=web', '-o', 'jsonpath={.items[*].spec.nodeName}');
    assert.equal(nodes, 'kwok-0 kwok-0 kwok-0');
    await ok('drain', 'kwok-0', '--ignore-daemonsets', '--force', '--timeout=30s');
    await ok('uncordon', 'kwok-0');
    await ok('delete', 'deployment', 'web', '--cascade=foreground', '--timeout=30s');
  });
});

describe('the kubelet stand-in', () => {
  it('runs pods that the scheduler sends to it and deletes them', async () => {
    const template = {
      metadata: { labels: { app: 'scheduled' } },
      spec: { ...kubeletPlacement, containers: [{ name: 'main', image: 'example.test/x' }] },
    };
    const selector = { matchLabels: { app: 'scheduled' } };
    await member.apply({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'scheduled' },
      spec: { replicas: 2, selector, template },
    });
    await ok('rollout', 'status', 'deployment/scheduled', '--timeout=30s');
    assert.match(await ok('exec', 'deployment/scheduled', '--', 'sh', '-c', 'echo $HOSTNAME'), /^scheduled-/);
    await ok('delete', 'deployment', 'scheduled', '--cascade=foreground', '--timeout=30s');
  });

  it('gives back output before and after a restart of the container', async () => {
    const script = 'echo "life of $(NAME)"; exit 2';
    const env = [{ name: 'NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }];
    const containers = [{ name: 'main', image: 'busybox', command: ['sh', '-c', script], env }];
    await member.apply(kubeletPod('crash', { containers }));
    await ok('wait', '--for=jsonpath={.status.containerStatuses[0].restartCount}=1', 'pod/crash', '--timeout=30s');
    assert.equal(await ok('logs', 'crash', '--previous'), 'life of crash\n');
    const status = await ok(
      'get',
      'pod',
      'crash',
      '-o',
      'jsonpath={.status.containerStatuses[0].lastState.terminated.exitCode}',
    );
    assert.equal(status, '2');
    await ok('delete', 'pod', 'crash');
  });

  it('runs init containers in order before the others', async () => {
    const step = (name: string): object => ({ name, image: 'busybox', command: ['sh', '-c', `echo ${name}`] });
    const spec = { restartPolicy: 'Never', initContainers: [step('one'), step('two')], containers: [step('main')] };
    await member.apply(kubeletPod('init', spec));
    await ok('wait', '--for=jsonpath={.status.phase}=Succeeded', 'pod/init', '--timeout=20s');
    for (const name of ['one', 'two', 'main']) assert.equal(await ok('logs', 'init', '-c', name), `${name}\n`);
    await ok('delete', 'pod', 'init');
  });

  it('is behind services/proxy, pods/proxy and nodes/proxy', async () => {
    const through = async (target: string): Promise<string> => (await member.request('GET', target)).body;
    const inside = '/api/v1/namespaces/default';
    assert.equal(await through(`${inside}/pods/box:8080/proxy/a?b=c`), 'GET /a?b=c on default/box:8080\n');
    await ok(
      'wait',
      '--for=jsonpath={.endpoints[0].conditions.ready}=true',
      'endpointslice',
      '-l',
      'kubernetes.io/service-name=box',
      '--timeout=20s',
    );
    assert.equal(await through(`${inside}/services/box:80/proxy/d`), 'GET /d on default/box:8080\n');
    assert.equal(await through('/api/v1/nodes/kubelet-0/proxy/healthz'), 'ok');
  });

  it('refuses callers without a certificate of its cluster', async () => {
    const port = plane.member('m1').kubeletPort;
    await assert.rejects(fetchInsecure(`https://127.0.0.1:${port}/pods`), /certificate|ECONNRESET|socket/i);
  });
});

/** Runs a shell command on a terminal of its own, by util-linux `script`, with `input` typed into it. */
function inTerminal(command: string, input: string, env: Readonly<Record<string, string>>): Promise<CommandResult> {
  return runCommand('script', ['-qec', command, '/dev/null'], { stdin: input, env });
}

async function fetchInsecure(url: string): Promise<number> {
  const { request } = await import('node:https');
  return await new Promise((resolve, reject) => {
    const sent = request(url, { rejectUnauthorized: false }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    sent.once('error', reject);
    sent.end();
  });
}

for (const webSockets of ['true', 'false']) {
  const env = { KUBECTL_REMOTE_COMMAND_WEBSOCKETS: webSockets, KUBECTL_PORT_FORWARD_WEBSOCKETS: webSockets };
  const run = (args: readonly string[], stdin?: string | Uint8Array) =>
    member.kubectl(args, { env, cwd: folder, ...(stdin === undefined ? {} : { stdin }) });
  const watching = (args: readonly string[]): KubectlStream => startKubectl(plane, member, args, env);

  describe(`streams, WebSocket ${webSockets}`, () => {
    it('exec passes standard error, the exit code, and standard input to its end', async () => {
      const failed = await run(['exec', 'box', '-c', 'main', '--', 'sh', '-c', 'echo out; echo err >&2; exit 3']);
      assert.deepEqual([failed.code, failed.stdout], [3, 'out\n']);
      assert.match(failed.stderr, /^err\ncommand terminated with exit code 3\n$/);
      const piped = await run(['exec', '-i', 'box', '-c', 'main', '--', 'cat'], 'first\nlast');
      assert.deepEqual([piped.code, piped.stdout], [0, 'first\nlast']);
    });

    it('exec with a terminal has the size of the caller’s one and passes keys and the exit code', async () => {
      const inner = `read word; stty size; tty; echo "got $word"; exit 7`;
      const kubectl = `stty rows 33 cols 101; exec "$KUBECTL" exec -it box -c main -- sh -c '${inner}'`;
      const result = await inTerminal(kubectl, 'hello\n', {
        ...env,
        KUBECTL: plane.binaries['kubectl'] ?? '',
        KUBECONFIG: member.adminKubeconfig,
      });
      assert.equal(result.code, 7, result.stdout + result.stderr);
      assert.match(result.stdout, /33 101\r?\n\/dev\/pts\/\d+\r?\ngot hello/);
    });

    it('exec uses exactly one request, of the protocol asked for', async () => {
      const mark = await member.auditMark();
      await run(['exec', 'box', '--', 'true']);
      const execs = await member.waitForAudit(
        (event) => event.objectRef?.subresource === 'exec' && event.stage === 'ResponseComplete',
        { mark },
      );
      assert.equal(execs.length, 1);
      assert.equal(execs[0]?.verb, webSockets === 'true' ? 'get' : 'create');
    });

    it('attach shows what the container writes from then on', async () => {
      const attached = watching(['attach', 'box', '-c', 'main']);
      await attached.waitFor(/line \d+\nline \d+\n/);
      await attached.stop();
    });

    it('cp carries 10 MB both ways unchanged, to /tmp and to the working directory', async () => {
      const data = randomBytes(10 * 1024 * 1024);
      await writeFile(path.join(folder, 'big.bin'), data);
      for (const target of ['/tmp/there.bin', 'there.bin']) {
        const sent = await run(['cp', 'big.bin', `box:${target}`]);
        assert.equal(sent.code, 0, sent.stderr);
        const fetched = await run(['cp', `box:${target}`, 'back.bin']);
        assert.equal(fetched.code, 0, fetched.stderr);
        assert.equal(sha256(await readFile(path.join(folder, 'back.bin'))), sha256(data));
      }
    });

    it('port-forward reaches a declared port: HTTP, and 10 MB echoed', async () => {
      const forward = await startForward(plane, member, 'pod/box', 8080, env);
      try {
        assert.equal(await (await fetch(`${forward.url}/x`)).text(), 'GET /x on default/box:8080\n');
        const data = randomBytes(10 * 1024 * 1024);
        const echoed = await fetch(`${forward.url}/echo`, { method: 'POST', body: data });
        assert.equal(sha256(new Uint8Array(await echoed.arrayBuffer())), sha256(data));
      } finally {
        await forward.stop();
      }
    });

    it('logs -f follows until the container is gone', async () => {
      const name = `talk-${webSockets}`;
      const command = ['sh', '-c', 'for i in 1 2 3; do echo $i; sleep 0.3; done'];
      await member.apply(
        kubeletPod(name, { restartPolicy: 'Never', containers: [{ name: 'main', image: 'x', command }] }),
      );
      await ok('wait', '--for=condition=Ready', `pod/${name}`, '--timeout=20s');
      const followed = await run(['logs', '-f', name]);
      assert.deepEqual([followed.code, followed.stdout], [0, '1\n2\n3\n']);
      assert.equal((await run(['logs', name, '--tail=1'])).stdout, '3\n');
      assert.match((await run(['logs', name, '--timestamps', '--limit-bytes=20'])).stdout, /^\d{4}-\d\d-\d\dT/);
      await ok('delete', 'pod', name);
    });

    it('run -i --rm gives the command its input and its exit code to the caller', async () => {
      const overrides = '{"spec":{"nodeName":"kubelet-0"}}';
      const args = ['run', 'once', '--rm', '-i', '--restart=Never', '--image=busybox', `--overrides=${overrides}`];
      const result = await run([...args, '--', 'sh', '-c', 'cat; echo end; exit 4'], 'input\n');
      assert.equal(result.code, 4, result.stderr);
      assert.match(result.stdout, /^input\nend\n/);
    });

    it('debug adds a container to a running pod and talks to it', async () => {
      const args = ['debug', 'box', '--image=busybox', '--target=main', '-q', '-i', '--'];
      const result = await run([...args, 'sh', '-c', 'read word; echo "got $word"'], 'hello\n');
      assert.equal(result.code, 0, result.stderr);
      assert.match(result.stdout, /got hello\n/);
    });
  });
}

describe('a kube-apiserver', () => {
  it('can be stopped in its tracks, go on, be killed and come back on the same port', async () => {
    const second = plane.member('m2');
    second.pauseProcess();
    const stalled = await second.kubectl(['get', '--raw', '/version', '--request-timeout=1s']);
    assert.notEqual(stalled.code, 0);
    second.resumeProcess();
    assert.equal((await second.kubectl(['get', 'ns'])).code, 0);
    const { pid, url } = second;
    await second.kill();
    await assert.rejects(second.request('GET', '/readyz'), /ECONNREFUSED/);
    await second.restart();
    assert.equal(second.url, url);
    assert.notEqual(second.pid, pid);
    assert.equal((await second.request('GET', '/readyz')).body, 'ok');
    assert.ok((await second.metric('apiserver_request_total', { verb: 'GET' })) > 0);
    assert.ok((await second.cpuUs()) > 0);
    await second.apply(kubeletPod('again', { containers: [{ name: 'main', image: 'x' }] }));
    const waited = await second.kubectl(['wait', '--for=condition=Ready', 'pod/again', '--timeout=30s']);
    assert.equal(waited.code, 0, waited.stderr);
    assert.equal((await second.kubectl(['exec', 'again', '--', 'echo', 'alive'])).stdout, 'alive\n');
  });
});
