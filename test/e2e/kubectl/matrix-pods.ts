// Commands of the kubectl matrix that talk to running pods: logs, exec, attach, debug, cp, run, port-forward, proxy.
// What a container writes must be complete before one side reads it, hence the waits.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { exchangeTcp, stepsIn, type Steps } from './matrix-steps.ts';
import type { Scenario } from './matrix-objects.ts';
import { answeringPod, boxPod, followedPod, podService, talkingPod } from './pods.ts';
import type { Side } from './sides.ts';
import { startInTerminal } from '../streams/terminal.ts';

/** What these scenarios need to know beside the side. */
export interface PodScenarioOptions {
  readonly namespace: string;
  /** Path of kubectl. */
  readonly kubectl: string;
}

/** Makes the pods of all scenarios here and waits for what they write, as admin. */
export async function makePods(side: Side, namespace: string): Promise<void> {
  const { settled, prepare } = stepsIn(side, namespace);
  const pods = [boxPod('box', namespace), talkingPod('talk', namespace), followedPod('follow', namespace)];
  await side.member.apply(...pods, answeringPod('answer', namespace), podService('box', namespace));
  for (const name of ['box', 'talk', 'follow', 'answer'])
    await prepare('wait', '--for=condition=Ready', `pod/${name}`, '--timeout=60s');
  for (const container of ['left', 'right']) await settled(['logs', 'talk', '-c', container], /end/);
  const slices = ['get', 'endpointslice', '-l', 'kubernetes.io/service-name=box'];
  await settled([...slices, '-o', 'jsonpath={.items[*].endpoints[0].conditions.ready}'], /true/);
}

/** `logs` in its many forms. */
export function logging({ namespace }: PodScenarioOptions): Scenario {
  return async (side) => {
    const { ok, shows, fails, sorted, prepare } = stepsIn(side, namespace);
    await ok(['logs', 'talk', '-c', 'left']);
    await ok(['logs', 'talk']);
    // kubectl goes through several containers in the order of a Go map.
    await sorted(['logs', 'talk', '--all-containers']);
    await sorted(['logs', 'talk', '--all-containers', '--prefix']);
    await shows(['logs', 'talk', '-c', 'right', '--tail=2'], /^right 3\nright end\n$/);
    await ok(['logs', 'talk', '-c', 'right', '--since=1h']);
    await ok(['logs', 'talk', '-c', 'right', '--since-time=2030-01-01T00:00:00Z']);
    await ok(['logs', 'talk', '-c', 'right', '--timestamps']);
    await ok(['logs', 'talk', '-c', 'right', '--limit-bytes=10']);
    await sorted(['logs', '-l', 'app=talk', '--all-containers', '--tail=-1', '--prefix']);
    await ok(['logs', 'service/box']);
    await fails(['logs', 'talk', '-c', 'left', '--previous'], /previous terminated container/);
    await fails(['logs', 'talk', '-c', 'nobody'], /container nobody is not valid/);
    await fails(['logs', 'nobody'], /not found/);
    const following = side.start(['-n', namespace, 'logs', '-f', 'follow']);
    await following.until(/first/);
    await prepare('exec', 'follow', '--', 'touch', '/tmp/go');
    await following.until(/second/);
    const { code } = await following.finish();
    if (code !== 0) throw new Error(`logs -f ended with ${String(code)}`);
    const endless = side.start(['-n', namespace, 'logs', '-f', 'talk', '-c', 'left', '--tail=1']);
    await endless.until(/left end/);
    await endless.stop();
  };
}

/** `exec`, with and without a terminal. */
export function executing({ namespace, kubectl }: PodScenarioOptions): Scenario {
  return async (side) => {
    const { ok, shows, fails } = stepsIn(side, namespace);
    const shell = (script: string): string[] => ['exec', 'box', '--', 'sh', '-c', script];
    await shows(shell('echo out; echo err >&2'), /^out\n$/);
    await fails(shell('echo out; exit 3'), /exit code 3/, 3);
    await shows(['exec', '-i', 'box', '-c', 'main', '--', 'cat'], /^first\nlast$/, { stdin: 'first\nlast' });
    await shows(['exec', '-i', 'box', '--', 'wc', '-c'], /^3000000\n$/, { stdin: Buffer.alloc(3_000_000, 'x') });
    await ok(shell('head -c 3000000 /dev/zero | tr "\\0" y | fold -w 1000'));
    await ok(['exec', '-i', 'box', '--', 'head', '-n', '1'], { stdin: 'one\ntwo\n' });
    await ok(['exec', 'service/box', '--', 'echo', 'through the service']);
    await fails(['exec', 'box', '--', 'no-such-program'], /no-such-program/);
    await fails(['exec', 'box', '-c', 'nobody', '--', 'true'], /container .*nobody/);
    await fails(['exec', 'nobody', '--', 'true'], /not found/);
    await fails(['exec', 'box'], /at least one command/);

    // A size arrives when it arrives; a lost one ends the test by its deadline.
    const sized = (size: string): string => `until [ "$(stty size)" = "${size}" ]; do sleep 0.05; done; stty size`;
    const script = `echo ready; read word; ${sized('33 101')}; test -t 0 && echo "got $word"; ${sized('44 120')}; exit 7`;
    const args = ['-n', namespace, 'exec', '-it', 'box', '--', 'sh', '-c', script];
    const terminal = startInTerminal(side, kubectl, args);
    await terminal.until(/ready/);
    terminal.type('hello\n');
    await terminal.until(/33 101\r\ngot hello/);
    terminal.resize(44, 120);
    await terminal.until(/44 120/);
    const { code, stdout } = await terminal.finish();
    if (code !== 7) throw new Error(`${side.name}: exec -it gave ${String(code)}:\n${stdout}`);
    const reader = ['exec', '-it', 'box', '--', 'sh', '-c', 'echo ready; cat; echo end of input'];
    const closed = startInTerminal(side, kubectl, ['-n', namespace, ...reader]);
    await closed.until(/ready/);
    closed.type('\u0004');
    await closed.finish();
  };
}

/** `attach` and `debug`. */
export function attaching({ namespace, kubectl }: PodScenarioOptions): Scenario {
  return async (side) => {
    const { ok, shows, fails } = stepsIn(side, namespace);
    const attached = side.start(['-n', namespace, 'attach', '-i', 'answer'], { stdin: 'one\n' });
    await attached.until(/got one/);
    await attached.stop();
    const last = side.start(['-n', namespace, 'attach', '-i', '-q', 'answer'], { stdin: 'two\n' });
    await last.until(/got two/);
    last.child.stdin!.write('bye\n');
    await last.until(/got bye/);
    await last.finish();
    await fails(['attach', 'answer'], /completed pod|Succeeded|Failed/i);
    await fails(['attach', 'nobody'], /not found/);

    const ephemeral = ['debug', 'box', '--image=busybox', '--target=main', '-c'];
    const answer = ['sh', '-c', 'read word; echo "got $word"; exit 4'];
    await side.run(['-n', namespace, ...ephemeral, 'tool', '-q', '-i', '--', ...answer], { stdin: 'hello\n' });
    await shows(['logs', 'box', '-c', 'tool'], /got hello/);
    const sized = ['sh', '-c', 'read word; until [ "$(stty size)" = "33 101" ]; do sleep 0.05; done; stty size'];
    const terminal = startInTerminal(side, kubectl, [
      '-n',
      namespace,
      ...ephemeral,
      'seat',
      '-q',
      '-it',
      '--',
      ...sized,
    ]);
    await terminal.raw();
    terminal.type('hello\n');
    await terminal.until(/33 101/);
    await terminal.finish();
    await ok([
      'debug',
      'box',
      '--image=busybox',
      '-c',
      'extra',
      '--copy-to=copied',
      '--same-node',
      '-q',
      '--',
      'sleep',
      '9',
    ]);
    await ok(['get', 'pod', 'copied', '-o', 'jsonpath={.spec.containers[*].name}']);
    await ok(['delete', 'pod', 'copied', '--now']);
  };
}

/** `cp` of files and folders, and `run`. */
export function copying({ namespace }: PodScenarioOptions): Scenario {
  return async (side) => {
    const { ok, shows, fails } = stepsIn(side, namespace);
    const data = Buffer.alloc(1_500_000, 'portcullis ');
    side.file('sent.bin', data);
    await ok(['cp', 'sent.bin', 'box:there.bin']);
    await shows(['exec', 'box', '--', 'wc', '-c', 'there.bin'], /^1500000 /);
    await ok(['cp', 'box:there.bin', 'back.bin', '--retries=2']);
    if (!readFileSync(join(side.dir, 'back.bin')).equals(data)) throw new Error(`${side.name}: cp changed the file`);
    mkdirSync(join(side.dir, 'folder/inner'), { recursive: true });
    writeFileSync(join(side.dir, 'folder/inner/a.txt'), 'in a folder\n');
    await ok(['cp', 'folder', `${namespace}/box:folder`, '-c', 'main']);
    await shows(['exec', 'box', '--', 'cat', 'folder/inner/a.txt'], /in a folder/);
    await ok(['cp', 'box:folder', 'returned']);
    const returned = readFileSync(join(side.dir, 'returned/inner/a.txt'), 'utf8');
    if (returned !== 'in a folder\n') throw new Error(`${side.name}: cp of a folder gave ${returned}`);
    // kubectl stops reading tar's complaint when standard output ends, so what it prints of that differs from run to
    // run.
    const nothing = await side.run(['-n', namespace, 'cp', 'box:/tmp/nothing', 'never'], { silent: true });
    side.outcomes.push({ ...nothing, stdout: String(existsSync(join(side.dir, 'never'))), stderr: '' });
    await fails(['cp', 'sent.bin', 'nobody:/tmp/x'], /not found/);

    const overrides = '--overrides={"spec":{"nodeName":"kubelet-0","terminationGracePeriodSeconds":1}}';
    const run = ['run', 'once', '--rm', '-i', '--restart=Never', '--image=busybox', overrides];
    await fails([...run, '--', 'sh', '-c', 'cat; echo err >&2; exit 4'], /err/, 4, { stdin: 'input\n' });
    await shows([...run, '-q', '--', 'cat'], /^quiet\n/, { stdin: 'quiet\n' });
    await ok(['run', 'kept', '--image=busybox', overrides, '--dry-run=server', '-o', 'name']);
  };
}

/** `port-forward`, `proxy`, and pods and services through the API. */
export function reaching({ namespace }: PodScenarioOptions): Scenario {
  return async (side) => {
    const { ok, shows, fails } = stepsIn(side, namespace);
    for (const target of ['pod/box', 'service/box']) await forwardTo(side, namespace, target);

    await forwardToNothing(side, namespace);
    await fails(['port-forward', 'nobody', ':80'], /not found/);
    await fails(['port-forward', 'service/box', ':81'], /does not have a service port 81/);

    // Without the flag kubectl drops the server URL's path, and says so.
    const proxy = side.start(['proxy', '--port=0', '--append-server-path']);
    const address = `http://127.0.0.1:${localPort(await proxy.until(/Starting to serve/))}`;
    for (const path of [
      '/apis/apps/v1',
      `/api/v1/namespaces/${namespace}/services/box:80/proxy/a/b?c=d%2Fe`,
      `/api/v1/namespaces/${namespace}/pods/nobody`,
    ]) {
      const answer = await fetch(address + path);
      side.outcomes.push({ command: `GET ${path}`, code: answer.status, stdout: await answer.text(), stderr: '' });
    }
    await proxy.stop();

    const inside = `/api/v1/namespaces/${namespace}`;
    await shows(['get', '--raw', `${inside}/services/box:80/proxy/x?y=z`], /^GET \/x\?y=z on /);
    await ok(['get', '--raw', `${inside}/pods/box:8080/proxy/x%2Fy?y=%20z`]);
    await ok(['get', '--raw', `${inside}/pods/box:8080/proxy/bytes/70000`]);
    await fails(['get', '--raw', `${inside}/pods/box:8080/proxy/status/500`], /unable to handle|InternalError/);
    await fails(['get', '--raw', `${inside}/services/none:80/proxy/`], /not found/);
    side.file('body.json', '{"posted": true}\n');
    await shows(['create', '--raw', `${inside}/services/box:80/proxy/echo`, '-f', 'body.json'], /posted/);
  };
}

/**
 * A port nothing listens on. The kubelet's handler may reset the stream before it has confirmed it (httpStreamReceived
 * of k8s.io/kubelet answers from another goroutine), directly as well as through the gateway: kubectl then says another
 * sentence and goes on forwarding, so the connection is made again until the pod's own error is told.
 */
async function forwardToNothing(side: Side, namespace: string): Promise<void> {
  const forward = side.start(['-n', namespace, 'port-forward', '--address=127.0.0.1', 'pod/box', ':1'], {
    silent: true,
  });
  const port = localPort(await forward.until(/Forwarding from/));
  const reported = /an error occurred forwarding.*/;
  for (let attempt = 1; attempt <= 10; attempt++) {
    await exchangeTcp(port, 'nobody hears this\n').catch(() => undefined);
    const resets = `(?:error creating forwarding stream[^]*){${attempt}}`;
    const output = await forward.until(new RegExp(`${reported.source}|${resets}`));
    if (reported.test(output)) break;
  }
  const outcome = await forward.finish();
  const error = reported.exec(outcome.stderr)?.[0] ?? 'the error of the pod was never told';
  side.outcomes.push({ ...outcome, stdout: '', stderr: error });
}

async function forwardTo(side: Side, namespace: string, target: string): Promise<void> {
  const remote = target.startsWith('service/') ? ':80' : ':8080';
  const forward = side.start(['-n', namespace, 'port-forward', '--address=127.0.0.1', target, remote]);
  const port = localPort(await forward.until(/Forwarding from/));
  const echoed = await exchangeTcp(port, `echo to ${target}\n`);
  const answer = await fetch(`http://127.0.0.1:${port}/path?a=b`, { headers: { connection: 'close' } });
  const stdout = echoed.toString() + (await answer.text());
  side.outcomes.push({ command: `talk to ${target}`, code: answer.status, stdout, stderr: '' });
  await forward.stop();
}

function localPort(output: string): number {
  return Number(/127\.0\.0\.1:(\d+)/.exec(output)![1]);
}

/** What alice may not do in a namespace where she only reads: the member's own words. */
export function refusing({ namespace }: PodScenarioOptions): Scenario {
  return async (side) => {
    const { ok, fails }: Steps = stepsIn(side, namespace);
    const forbidden = /Forbidden|forbidden/;
    await ok(['logs', 'talk', '-c', 'left']);
    await ok(['get', 'pods', 'box', '-o', 'name']);
    await fails(['exec', 'box', '--', 'true'], forbidden);
    await fails(['attach', 'talk'], forbidden);
    await fails(['port-forward', 'box', ':8080'], forbidden);
    side.file('small.txt', 'x\n');
    await fails(['cp', 'small.txt', 'box:/tmp/x'], forbidden);
    await fails(['debug', 'box', '--image=busybox', '-q', '--', 'true'], forbidden);
    await fails(['run', 'once', '--image=busybox'], forbidden);
    await fails(['get', 'secrets'], forbidden);
    await fails(['delete', 'pod', 'box'], forbidden);
    await fails(['drain', 'kwok-0', '--ignore-daemonsets'], forbidden);
    await fails(['get', '--raw', `/api/v1/namespaces/${namespace}/services/box:80/proxy/`], forbidden);
  };
}
