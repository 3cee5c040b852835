// HTTP programs that are no clients of Kubernetes, against the TLS listener of a real gateway: Debian's HAProxy with
// its checks over HTTP/1.0, and two HTTP clients of Java that offer an upgrade with every request. Java offers one over
// plain HTTP only, as behind a sidecar that adds TLS, so a relay of the test adds it here.
import assert from 'node:assert/strict';
import { execFile, execFileSync, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import { connect as connectTls } from 'node:tls';
import { promisify } from 'node:util';
import { startControlPlane } from '../../controlplane/fixture.ts';
import type { ControlPlane } from '../../controlplane/fixture.ts';
import { startGatewayProcess } from '../../gateway-process.ts';
import type { GatewayProcess } from '../../gateway-process.ts';
import { eventually } from '../../site/polling.ts';
import { exchange } from '../../site/raw-client.ts';
import { tempDir } from '../../pretend/temp-dir.ts';
import { serve } from '../../pretend/server.ts';

const run = promisify(execFile);
const carol = { token: 'carol-at-the-gateway', name: 'carol', uid: 'carol-uid', groups: [] };
const maps = '/clusters/m1/proxy/api/v1/namespaces/default/configmaps';
// Debian keeps HAProxy out of the PATH of ordinary users.
const path = `${process.env['PATH'] ?? ''}:/usr/sbin`;

/** Why a test cannot run here: the first program that is not installed. */
function missing(debianPackage: string, ...programs: readonly string[]): string | false {
  for (const program of programs) {
    try {
      execFileSync('which', [program], { stdio: 'ignore', env: { PATH: path } });
    } catch {
      return `needs ${program} (Debian: apt-get install ${debianPackage})`;
    }
  }
  return false;
}

const folder = tempDir('http-clients');
let plane: ControlPlane;
let gateway: GatewayProcess;

before(async () => {
  plane = await startControlPlane({ members: ['m1'] });
  gateway = await startGatewayProcess({ kubeconfigs: [plane.gatewayKubeconfig], users: [carol] });
});
after(async () => {
  await gateway?.stop('SIGKILL');
  await plane?.stop();
});

/** One backend of HAProxy for each check, and the column of its statistics that says what the gateway answered. */
const checks = {
  default: 'option httpchk',
  readyz: 'option httpchk GET /readyz',
  livez: 'option httpchk HEAD /livez',
  version: 'option httpchk GET /version',
  modern: 'option httpchk GET /readyz HTTP/1.1\n  http-check send hdr Host gateway.example',
} as const;

function haproxyConfig(statistics: string): string {
  const server = `server gateway 127.0.0.1:${gateway.port} check inter 300ms ssl verify required ca-file ${gateway.caFile}`;
  return [
    `global\n  stats socket ${statistics} level user`,
    'defaults\n  mode http\n  timeout connect 5s\n  timeout client 5s\n  timeout server 5s',
    `frontend in\n  bind unix@${join(folder, 'in.sock')}\n  default_backend readyz`,
    ...Object.entries(checks).map(([name, check]) => `backend ${name}\n  ${check}\n  ${server}`),
    '',
  ].join('\n');
}

/** What HAProxy's checks found so far, by the name of the backend. */
async function found(statistics: string): Promise<ReadonlyMap<string, { status: string; code: string }>> {
  const socket = connect(statistics);
  socket.end('show stat\n');
  const [header = '', ...lines] = (await buffer(socket)).toString('utf8').trim().split('\n');
  const names = header.replace(/^# /, '').split(',');
  const column = (line: string, name: string): string => line.split(',')[names.indexOf(name)] ?? '';
  return new Map(
    lines
      .filter((line) => column(line, 'svname') === 'gateway')
      .map((line) => [
        column(line, 'pxname'),
        { status: column(line, 'check_status').replace(/^\* /, ''), code: column(line, 'check_code') },
      ]),
  );
}

test(
  'HAProxy finds the gateway up by a check over HTTP/1.0, and its default check gets what HTTP/1.1 gets',
  {
    skip: missing('haproxy', 'haproxy'),
  },
  async () => {
    const statistics = join(folder, 'stats.sock');
    const file = join(folder, 'haproxy.cfg');
    writeFileSync(file, haproxyConfig(statistics));
    const haproxy: ChildProcess = spawn('haproxy', ['-db', '-f', file], { env: { PATH: path }, stdio: 'inherit' });
    try {
      const results = await eventually('all checks', async () => {
        const now = await found(statistics);
        const isDone = [...now.values()].every(({ code }) => code !== '' && code !== '0');
        return now.size === Object.keys(checks).length && isDone && now;
      });
      for (const name of ['readyz', 'livez', 'version', 'modern'] as const) {
        // /version needs a login, as at kube-apiserver without its default binding.
        const { status, code } = results.get(name)!;
        const wanted = name === 'version' ? await plainStatus('GET /version') : 200;
        assert.equal(code, String(wanted), `${name}: ${status}`);
        if (wanted === 200) assert.equal(status, 'L7OK', name);
      }
      assert.equal(results.get('default')!.code, String(await plainStatus('OPTIONS /')));
    } finally {
      haproxy.kill('SIGKILL');
      await once(haproxy, 'exit');
    }
  },
);

/** The status that a request of HTTP/1.1 without a login gets. */
async function plainStatus(line: string): Promise<number> {
  const request = `${line} HTTP/1.1\r\nHost: gateway.example\r\nConnection: close\r\n\r\n`;
  return (await exchange({ port: gateway.port, ca: gateway.caPem }, request)).status;
}

/** Relays plain connections to the gateway over TLS, and keeps what clients sent. */
async function startRelay(): Promise<{ readonly port: number; close(): Promise<void>; sent(): string }> {
  let sent = '';
  const server = createServer((client) => {
    const upstream = connectTls({ host: '127.0.0.1', port: gateway.port, ca: gateway.caPem });
    client.on('data', (chunk) => (sent += chunk.toString('latin1')));
    client.on('error', () => upstream.destroy()).pipe(upstream);
    upstream.on('error', () => client.destroy()).pipe(client);
  });
  const { port, close } = await serve(server);
  return { port, close, sent: () => sent };
}

/** Copies the program and its libraries; Maven keeps what it fetched for the next run. */
async function javaProgram(): Promise<{ readonly source: string; readonly libraries: string }> {
  const source = join(import.meta.dirname, '../../controlplane/clients/java-http');
  const own = join(folder, 'java-http');
  if (!existsSync(own)) {
    cpSync(source, own, { recursive: true });
    await run('mvn', ['-q', '-B', 'dependency:copy-dependencies', '-DoutputDirectory=lib'], {
      cwd: own,
      timeout: 300_000,
    });
  }
  return { source: join(own, 'Ask.java'), libraries: join(own, 'lib', '*') };
}

const offers = { apache: /^upgrade: TLS\/1\.2\r$/im, jdk: /^upgrade: h2c\r$/im } as const;
for (const [client, offer] of Object.entries(offers)) {
  test(
    `the HTTP client of Java called ${client} reads and writes with the upgrade that it offers`,
    {
      skip: missing('default-jdk maven', 'java', 'javac', 'mvn'),
    },
    async () => {
      const { source, libraries } = await javaProgram();
      const relay = await startRelay();
      try {
        const url = `http://127.0.0.1:${relay.port}`;
        const map = (name: string): string =>
          JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { a: 'b' } });
        const requests: readonly (readonly [status: number, method: string, path: string, body: string])[] = [
          [200, 'GET', '/readyz', ''],
          [200, 'GET', '/apis', ''],
          [200, 'GET', '/apis/gateway.portcullis.io/v1alpha1/clusters', ''],
          [200, 'GET', maps, ''],
          [201, 'POST', maps, map(`of-${client}`)],
          [200, 'PUT', `${maps}/of-${client}`, map(`of-${client}`)],
          [200, 'PATCH', `${maps}/of-${client}`, '{"data":{"a":"c"}}'],
          [200, 'DELETE', `${maps}/of-${client}`, ''],
        ];
        const asked = requests.flatMap(([, method, at, body]) => [method, url + at, body]);
        const { stdout } = await run('java', ['-cp', libraries, source, client, carol.token, ...asked], {
          timeout: 120_000,
        });
        const lines = stdout.trim().split('\n');
        assert.deepEqual(
          lines.map((line) => Number(line.split(' ')[0])),
          requests.map(([status]) => status),
        );
        for (const line of lines) assert.ok(Number(line.split(' ')[1]) > 0, line);
        assert.match(relay.sent(), offer);
      } finally {
        await relay.close();
      }
    },
  );
}
