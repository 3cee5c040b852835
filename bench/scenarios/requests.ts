// Measures throughput, latency and CPU time per request with short requests. Each connection sends its next request
// when it has the answer. The CPU time is read right before and right after the measurement, while no request runs, so
// that exactly the counted requests are included.
import { cpuSecondsBetween, readCpu } from '../figures/accounting.ts';
import { openLoad, type HeaderPairs, type LoadGroup } from '../load.ts';
import { configMapPath } from '../member.ts';
import { impersonatingHeaders } from '../site.ts';
import { askOnce, type RunningTarget } from '../targets/target.ts';
import { verifyEqualWork } from '../verify.ts';
import { errorsOf, interleave, onStub, type Bench, type Contender, type Scenario } from './scenario.ts';

/** One kind of request to measure, and the connections that send it. */
interface RequestScenario {
  readonly name: string;
  readonly connections: number;
  readonly method: string;
  readonly path: string;
  /** Length of a sample in seconds. The CPU time per request is the more exact, the more requests a sample has. */
  readonly seconds: number;
  readonly headers?: HeaderPairs;
  readonly body?: string;
  readonly expectStatus?: number;
  readonly echo?: boolean;
  readonly fresh?: LoadGroup['fresh'];
  /** Whether a program can handle this kind of request; when undefined, all programs can. */
  readonly takes?: (contender: Contender) => boolean;
  /** True to check before the measurement that each proxy's answer equals the API server's answer byte for byte. */
  readonly isSame?: boolean;
}

/** Requests to the chosen API server, by default a real kube-apiserver. They show what users would notice. */
const onMember: readonly RequestScenario[] = [
  { name: 'get-1', connections: 1, method: 'GET', path: configMapPath, seconds: 1 },
  { name: 'get-16', connections: 16, method: 'GET', path: configMapPath, seconds: 2 },
];

const listPath = '/api/v1/namespaces/list-1mb/configmaps';
const gzip: HeaderPairs = [['Accept-Encoding', 'gzip']];
/** Headers with which a client opens a WebSocket, as kubectl does. The key is any 16 bytes in base64 (RFC 6455). */
const webSocket: HeaderPairs = [
  ['Connection', 'Upgrade'],
  ['Upgrade', 'websocket'],
  ['Sec-WebSocket-Version', '13'],
  ['Sec-WebSocket-Key', Buffer.from('portcullis-bench').toString('base64')],
  ['Sec-WebSocket-Protocol', 'v5.channel.k8s.io'],
];
const echoTargets: ReadonlySet<string> = new Set([
  'direct',
  'portcullis',
  'go',
  'go-tuned',
  'haproxy',
  'kubectl-proxy',
]);

/** Requests to the stub API server, which does almost no work. They show what the proxy alone costs. */
const onStubMember: readonly RequestScenario[] = [
  { name: 'get-64', connections: 64, method: 'GET', path: configMapPath, seconds: 2 },
  { name: 'get-256', connections: 256, method: 'GET', path: configMapPath, seconds: 2 },
  { name: 'list-1mb', connections: 4, method: 'GET', path: listPath, seconds: 3, isSame: true },
  { name: 'list-1mb-gzip', connections: 4, method: 'GET', path: listPath, seconds: 2, headers: gzip, isSame: true },
  {
    name: 'post-10k',
    connections: 16,
    method: 'POST',
    path: '/api/v1/namespaces/bench/configmaps',
    seconds: 2,
    headers: [['Content-Type', 'application/json']],
    body: JSON.stringify({ kind: 'ConfigMap', apiVersion: 'v1', data: { text: 'portcullis '.repeat(930) } }),
    expectStatus: 201,
  },
  {
    name: 'exec-echo',
    connections: 16,
    method: 'GET',
    path: '/api/v1/namespaces/bench/pods/bench/exec?command=cat&stdin=true&stdout=true',
    seconds: 2,
    headers: webSocket,
    echo: true,
    // http-proxy and nginx, as they are configured here, do not upgrade connections, and HTTP/2 has no upgrades.
    takes: ({ target, protocol }) => protocol === 'h1' && echoTargets.has(target.name),
  },
  { name: 'handshakes', connections: 16, method: 'GET', path: '', seconds: 2, fresh: 'handshake', takes: hasTls },
  { name: 'churn', connections: 16, method: 'GET', path: configMapPath, seconds: 2, fresh: 'request', takes: hasTls },
];

function hasTls({ target }: Contender): boolean {
  return target.name !== 'kubectl-proxy';
}

/**
 * Limits of the first warm-up, which ends when either is reached. A gateway runs for weeks, so its first requests are
 * not measured. V8 needs some 30,000 requests to compile all code that requests run through, and the first 2,000 cost
 * three times as much as later ones (measured); Go and C need no warm-up. All programs get the same warm-up.
 */
const firstWarmup = { requests: 60_000, seconds: 60 };
/**
 * All programs warm up in turn, each a part of its requests at a time. One that was warmed up whole would then rest
 * while the others are: a gateway at rest gives memory back, after which V8's young generation is smallest and some
 * code is compiled again, so that the same program seemed 12 to 19 % slower than itself.
 */
const warmupTurns = 12;
const warmupSeconds = 0.3;
/**
 * When another checkout is compared, both gateways are started anew after this many rounds. Two starts of the same
 * program differ, because V8 optimizes each time after other requests; of one start each, one could not tell this from
 * a difference of the programs.
 */
const roundsOfStart = 4;
const quickFactor = 0.15;

/** GETs of a 1 KB ConfigMap over 1 and 16 connections. With HTTP/2, each connection carries one stream. */
export const requests: Scenario = {
  names: onMember.map((scenario) => scenario.name),
  run: (bench, chosen) => compare(bench, named(onMember, chosen)),
};

/**
 * The scenarios with requests to the stub: more connections, large and small bodies, upgraded connections, and a new
 * connection for each request.
 */
export const stubRequests: Scenario = {
  names: onStubMember.map((scenario) => scenario.name),
  onDemand: true,
  run: (bench, chosen) => onStub(bench, (stubbed) => compare(stubbed, named(onStubMember, chosen))),
};

function named(all: readonly RequestScenario[], chosen: readonly string[]): readonly RequestScenario[] {
  return all.filter(({ name }) => chosen.includes(name));
}

async function compare(bench: Bench, chosen: readonly RequestScenario[]): Promise<void> {
  const { rounds, against, quick } = bench.options;
  const atOnce = against === undefined || quick ? rounds : roundsOfStart;
  for (let first = 1; first <= rounds; first += atOnce) {
    await compareOneStart(bench, chosen, { first, rounds: Math.min(atOnce, rounds - first + 1) });
  }
}

async function compareOneStart(
  bench: Bench,
  chosen: readonly RequestScenario[],
  { first, rounds }: { readonly first: number; readonly rounds: number },
): Promise<void> {
  const running = new Map<string, RunningTarget>();
  try {
    for (const target of new Set(bench.contenders.map((contender) => contender.target))) {
      bench.progress(`starting ${target.title}`);
      const started = await target.start(bench.site, bench.progress);
      running.set(target.name, started);
      await verifyEqualWork(bench.site, target, started);
    }
    for (const scenario of chosen.filter(({ isSame }) => isSame)) await verifySameBytes(bench, scenario, running);
    const factor = bench.options.quick ? quickFactor : 1;
    const proxies = bench.contenders.filter(({ target }) => target.name !== 'direct');
    bench.progress(`warming up ${proxies.map(({ id }) => id).join(', ')}`);
    for (let turn = 0; turn < (bench.options.quick ? 1 : warmupTurns); turn += 1) {
      for (const contender of proxies)
        await warmUp(bench, contender, running.get(contender.target.name) as RunningTarget);
    }
    const pairs = bench.contenders.flatMap((contender) =>
      chosen
        .filter(({ takes }) => takes === undefined || takes(contender))
        .map((scenario) => ({ contender, scenario })),
    );
    const measureOne = async ({ contender, scenario }: (typeof pairs)[number], round: number): Promise<void> => {
      const seconds = (bench.options.seconds ?? scenario.seconds) * factor;
      const sample = await measure(bench, contender, running, { ...scenario, seconds });
      bench.record({ scenario: scenario.name, round, contender: contender.id, ...sample });
    };
    await interleave(bench, pairs, rounds, measureOne, first);
  } finally {
    await Promise.all([...running.values()].map((target) => target.stop()));
  }
}

/**
 * Checks that the proxies do not compress or decompress answers. A proxy that did would do other work than the rest,
 * and would change what the client asked for.
 * @throws Error (rejects) when an answer differs from the API server's
 */
async function verifySameBytes(
  { site }: Bench,
  { name, method, path, headers = [] }: RequestScenario,
  running: ReadonlyMap<string, RunningTarget>,
): Promise<void> {
  const member = {
    address: `${site.member.host}:${site.member.port}`,
    caFile: site.member.caFile,
    prefix: '',
    headers: impersonatingHeaders(site),
  };
  const ask = (to: Pick<RunningTarget, 'address' | 'caFile' | 'prefix' | 'headers' | 'plain'>) =>
    askOnce(to, method, to.prefix + path, [...to.headers, ...headers]);
  const own = await ask(member);
  for (const [target, started] of running) {
    const answer = await ask(started);
    if (answer.contentEncoding !== own.contentEncoding || !answer.bytes.equals(own.bytes))
      throw new Error(`${target}: ${name}: the answer is not that of the member`);
  }
}

async function warmUp(bench: Bench, contender: Contender, target: RunningTarget): Promise<void> {
  const widest = onMember.at(-1) as RequestScenario;
  const load = await openLoad(bench.loadBinary, {
    mode: 'requests',
    address: target.address,
    caFile: target.caFile,
    protocol: contender.protocol,
    plain: target.plain ?? false,
    seconds: bench.options.quick ? 0.3 : firstWarmup.seconds / warmupTurns,
    maxRequests: firstWarmup.requests / warmupTurns,
    groups: [group(target, widest)],
  });
  const result = await load.go();
  await load.close();
  const { errors, firstError } = errorsOf(result);
  if (errors > 0) throw new Error(`${contender.id}: ${errors} errors while warming up: ${firstError}`);
}

function group(target: RunningTarget, scenario: RequestScenario): LoadGroup {
  return {
    name: scenario.name,
    connections: scenario.connections,
    method: scenario.method,
    path: target.prefix + scenario.path,
    headers: [...target.headers, ...(scenario.headers ?? [])],
    body: scenario.body ?? '',
    expectStatus: scenario.expectStatus ?? 200,
    echo: scenario.echo ?? false,
    ...(scenario.fresh === undefined ? {} : { fresh: scenario.fresh }),
  };
}

async function measure(
  bench: Bench,
  contender: Contender,
  running: ReadonlyMap<string, RunningTarget>,
  scenario: RequestScenario,
): Promise<{ readonly values: Record<string, number>; readonly errors: number; readonly firstError?: string }> {
  const target = running.get(contender.target.name) as RunningTarget;
  const load = await openLoad(bench.loadBinary, {
    mode: 'requests',
    address: target.address,
    caFile: target.caFile,
    protocol: contender.protocol,
    plain: target.plain ?? false,
    seconds: scenario.seconds,
    warmupSeconds,
    groups: [group(target, scenario)],
  });
  try {
    const before = target.pid === undefined ? undefined : readCpu(target.pid);
    const result = await load.go();
    const [seen] = result.groups;
    if (seen === undefined) throw new Error('the load generator returned no group');
    const values: Record<string, number> = {
      requestsPerSecond: seen.requestsPerSecond,
      p50Ms: seen.p50Ms,
      p90Ms: seen.p90Ms,
      p99Ms: seen.p99Ms,
      bodyBytes: seen.bodyLength,
      mbPerSecond: seen.bytes / 1e6 / result.seconds,
      loadCpuShare: result.cpuShare,
      loadCpuUs: (result.cpuSeconds * 1e6) / seen.requests,
    };
    if (target.pid !== undefined && before !== undefined) {
      const spent = cpuSecondsBetween(before, readCpu(target.pid));
      values['cpuUs'] = (spent * 1e6) / (seen.requests + seen.errors);
      values['coresUsed'] = spent / result.seconds;
      if (seen.bytes > 0) values['cpuMsPerMb'] = (spent * 1e3) / (seen.bytes / 1e6);
    }
    return { values, ...errorsOf(result) };
  } finally {
    await load.close();
  }
}
