// The simulator's streams used by a real kubectl: exec, cp, attach, run, logs and port-forward, over WebSockets and
// over SPDY. kubectl falls back from one to the other in silence, so the simulator's audit log must show exactly one
// upgrade each.
import assert from 'node:assert/strict';
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { startSimulator, type Simulator } from '../../../sim/server.ts';
import { tempDir } from '../../pretend/temp-dir.ts';

const hasKubectl = spawnSync('kubectl', ['version', '--client']).status === 0;
const skip = hasKubectl ? false : 'no kubectl on this machine';

let simulator: Simulator;
const folder = tempDir('sim-streams');
const bigFile = (): string => join(folder, 'big');
const big = randomBytes(10 * 1024 * 1024);
const digest = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

function pod(name: string): object {
  const containers = [
    { name: 'web', image: 'nginx:1.29', ports: [{ containerPort: 8080 }] },
    { name: 'side', image: 'busybox:1.37' },
  ];
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace: 'default' }, spec: { containers } };
}

before(async () => {
  if (!hasKubectl) return;
  simulator = await startSimulator({ logPeriodMs: 100, controllers: { podStartMs: 1, podStopMs: 1 } });
  for (const name of ['websocket', 'spdy']) simulator.store.apply(pod(name) as Record<string, unknown>);
  const certificate = Buffer.from(simulator.caPem).toString('base64');
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'sim', cluster: { server: simulator.url, 'certificate-authority-data': certificate } }],
    users: [{ name: 'admin', user: { token: simulator.adminToken } }],
    contexts: [{ name: 'sim', context: { cluster: 'sim', user: 'admin' } }],
    'current-context': 'sim',
  };
  writeFileSync(join(folder, 'kubeconfig'), JSON.stringify(config), { mode: 0o600 });
  writeFileSync(bigFile(), big);
});

after(async () => {
  if (!hasKubectl) return;
  await simulator.close();
});

function start(isWebSocket: boolean, args: readonly string[]): ChildProcess {
  const env = {
    ...process.env,
    HOME: folder,
    KUBECONFIG: join(folder, 'kubeconfig'),
    KUBECTL_REMOTE_COMMAND_WEBSOCKETS: String(isWebSocket),
    KUBECTL_PORT_FORWARD_WEBSOCKETS: String(isWebSocket),
  };
  return spawn('kubectl', args, { env, cwd: folder });
}

interface Outcome {
  readonly stdout: Buffer;
  readonly stderr: string;
  readonly code: number | null;
}

async function run(isWebSocket: boolean, args: readonly string[], input: Buffer | string = ''): Promise<Outcome> {
  const child = start(isWebSocket, args);
  const out: Buffer[] = [];
  const err: Buffer[] = [];
  child.stdout?.on('data', (chunk: Buffer) => out.push(chunk));
  child.stderr?.on('data', (chunk: Buffer) => err.push(chunk));
  child.stdin?.on('error', () => undefined);
  child.stdin?.end(input);
  const [code] = (await once(child, 'close')) as [number | null];
  return { stdout: Buffer.concat(out), stderr: Buffer.concat(err).toString(), code };
}

/** Ends a kubectl that would go on, once its output matches. */
async function runUntil(child: ChildProcess, matches: RegExp): Promise<string> {
  let text = '';
  try {
    for await (const chunk of child.stdout as AsyncIterable<Buffer>) {
      text += chunk.toString();
      if (matches.test(text)) return text;
    }
  } finally {
    child.kill('SIGINT');
  }
  throw new Error(`kubectl ended without ${matches}: ${text}`);
}

/** Protocols of the upgrades of one pod's subresource, as the simulator saw them. */
function upgrades(podName: string, subresource: string): string[] {
  return simulator.audit.entries
    .filter((entry) => entry.path.split('?', 1)[0] === `/api/v1/namespaces/default/pods/${podName}/${subresource}`)
    .map((entry) => {
      const index = entry.rawHeaders.findIndex((text, i) => i % 2 === 0 && text.toLowerCase() === 'upgrade');
      return `${entry.rawHeaders[index + 1]?.toLowerCase()} ${entry.code}`;
    });
}

for (const isWebSocket of [true, false]) {
  const name = isWebSocket ? 'websocket' : 'spdy';
  const token = isWebSocket ? 'websocket 101' : 'spdy/3.1 101';
  const kubectl = (args: readonly string[], input: Buffer | string = ''): Promise<Outcome> =>
    run(isWebSocket, args, input);

  describe(`kubectl on the simulator, ${name}`, { skip, concurrency: 4 }, () => {
    it('exec gives stdout, stderr and the exit code, in one upgrade each', async () => {
      const before = upgrades(name, 'exec').length;
      const failed = await kubectl(['exec', name, '-c', 'web', '--', 'sh', '-c', 'echo out; echo err >&2; exit 7']);
      assert.equal(String(failed.stdout), 'out\n');
      assert.equal(failed.stderr, 'err\ncommand terminated with exit code 7\n');
      assert.equal(failed.code, 7);
      const seen = upgrades(name, 'exec').slice(before);
      assert.ok(seen.length >= 1 && seen.every((entry) => entry === token), seen.join());
    });

    it('exec -i carries 10 MB of stdin to its end and back', async () => {
      const result = await kubectl(['exec', '-i', name, '-c', 'web', '--', 'cat'], big);
      assert.equal(result.stderr, '');
      assert.equal(digest(result.stdout), digest(big));
    });

    it('exec of an unknown program fails with the reason', async () => {
      const result = await kubectl(['exec', name, '-c', 'web', '--', 'frobnicate']);
      assert.match(result.stderr, /exec: "frobnicate": executable file not found in \$PATH/);
      assert.equal(result.code, 1);
    });

    it('cp carries 10 MB in and out', async () => {
      const back = join(folder, `back-${name}`);
      assert.equal((await kubectl(['cp', bigFile(), `${name}:/tmp/big`, '-c', 'side'])).code, 0);
      const there = await kubectl(['exec', name, '-c', 'side', '--', 'cat', '/tmp/big']);
      assert.equal(digest(there.stdout), digest(big));
      assert.equal((await kubectl(['cp', `${name}:/tmp/big`, back, '-c', 'side'])).code, 0);
      assert.equal(digest(readFileSync(back)), digest(big));
    });

    it('run -i attaches to a shell and gives its exit code', async () => {
      const made = `run-${name}`;
      const args = ['run', made, '--rm', '-i', '--restart=Never', '--image=busybox', '--', 'sh'];
      const result = await kubectl(args, 'echo hello from $HOSTNAME\nexit 3\n');
      assert.match(String(result.stdout), new RegExp(`^hello from ${made}$`, 'm'));
      assert.equal(result.code, 3, result.stderr);
      assert.deepEqual(upgrades(made, 'attach'), [token]);
    });

    it('attach and logs -f show new lines as they come', async () => {
      assert.match(await runUntil(start(isWebSocket, ['attach', name, '-c', 'web']), /\n.*HTTP[^]*\n/), /GET/);
      const followed = await runUntil(start(isWebSocket, ['logs', '-f', '--tail=1', name, '-c', 'web']), /\n.*\n.*\n/);
      assert.match(followed, /"GET .* HTTP\/1.1" \d+ /);
      assert.deepEqual(upgrades(name, 'attach'), [token]);
    });

    it('logs knows --tail, --timestamps, --all-containers, --prefix and --previous', async () => {
      assert.equal(String((await kubectl(['logs', name, '-c', 'web', '--limit-bytes=10'])).stdout).length, 10);
      const all = await kubectl(['logs', name, '--all-containers', '--prefix', '--tail=1', '--timestamps']);
      assert.match(String(all.stdout), new RegExp(`^\\[pod/${name}/web\\] 20\\d\\d-.*Z `, 'm'));
      assert.match(String(all.stdout), new RegExp(`^\\[pod/${name}/side\\] 20\\d\\d-.*Z `, 'm'));
      const previous = await kubectl(['logs', name, '-c', 'web', '--previous']);
      assert.match(previous.stderr, /previous terminated container "web" in pod .* not found/);
      assert.equal(previous.code, 1);
    });

    it('port-forward carries 10 MB each way, HTTP, and tells of a closed port', async () => {
      const child = start(isWebSocket, ['port-forward', `pod/${name}`, ':8080', ':9999']);
      let errors = '';
      child.stderr?.on('data', (chunk: Buffer) => (errors += chunk.toString()));
      const ports = await new Promise<number[]>((resolve, reject) => {
        let text = '';
        // The pipe stays open: kubectl writes a line for every connection and would die of SIGPIPE.
        child.stdout?.on('data', (chunk: Buffer) => {
          text += chunk.toString();
          const found = [...text.matchAll(/127\.0\.0\.1:(\d+) ->/g)].map((match) => Number(match[1]));
          if (found.length === 2) resolve(found);
        });
        child.once('exit', () => reject(new Error(`kubectl ended: ${errors}`)));
      });
      const [open = 0, closed = 0] = ports;
      const echoed = await fetchBytes(open, big);
      assert.equal(digest(echoed), digest(big));
      assert.equal(String(await fetchBytes(open)), `hello from default/${name}:8080\nGET /\n`);
      await assert.rejects(fetchBytes(closed));
      if (child.exitCode === null) await once(child, 'exit');
      assert.match(errors, /error forwarding port 9999 to pod .* connection refused/);
      assert.deepEqual(upgrades(name, 'portforward'), [token]);
    });
  });
}

/** POSTs the body when there is one, else GETs; gives the answer's body. */
async function fetchBytes(port: number, body?: Buffer): Promise<Buffer> {
  const request = http.request({ host: '127.0.0.1', port, method: body === undefined ? 'GET' : 'POST', agent: false });
  request.end(body);
  const [response] = (await once(request, 'response')) as [http.IncomingMessage];
  const chunks: Buffer[] = [];
  for await (const chunk of response as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks);
}
