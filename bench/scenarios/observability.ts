// Measures what observability costs: a gateway without it, the same gateway with metrics scrapes and traces of one
// request in a hundred, and the same with audit events for all requests in addition. The trace collector must receive
// the spans. Otherwise the gateway would drop them, which costs almost nothing.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';

import { startPortcullis } from '../targets/portcullis.ts';
import { freePort, type RunningTarget } from '../targets/target.ts';
import { sampleContender } from './one-contender.ts';
import { interleave, onStub, type Bench, type Scenario } from './scenario.ts';

/**
 * Names of the three measured settings of the gateway: without observability, with metrics and traces, and with audit
 * events too.
 */
export const observabilityContenders = {
  plain: 'portcullis-not-asked',
  observed: 'portcullis-scraped-and-traced',
  audited: 'portcullis-scraped-traced-audited',
} as const;
type LaneName = (typeof observabilityContenders)[keyof typeof observabilityContenders];

const connections = 64;
const sampleSeconds = 2;
const scrapeEveryMs = 1_000;
const samplingRatePerMillion = 10_000;
/** Limits of the first warm-up, which ends when either is reached: V8 has then compiled the code (see requests.ts). */
const firstWarmup = { requests: 60_000, seconds: 60 };

interface Collector {
  readonly endpoint: string;
  readonly received: () => number;
  readonly close: () => void;
}

/**
 * The scenario `observability`: GETs of a 1 KB ConfigMap over 64 HTTP/1.1 connections. In every case metrics are
 * counted and the log has its default level.
 */
export const observability: Scenario = {
  names: ['observability'],
  onDemand: true,
  run: (outer) =>
    onStub(outer, async (bench) => {
      if (bench.contenders.every(({ target }) => target.name !== 'portcullis')) return;
      const collector = await startCollector();
      const running = new Map<LaneName, RunningTarget & { readonly opsPort: number }>();
      try {
        for (const contender of Object.values(observabilityContenders)) {
          bench.progress(`starting ${contender}`);
          running.set(contender, await startLane(bench, contender, collector));
        }
        const quick = bench.options.quick;
        for (const contender of running.values())
          await measure(bench, contender, quick ? 0.5 : firstWarmup.seconds, quick ? undefined : firstWarmup.requests);
        await interleave(
          bench,
          Object.values(observabilityContenders),
          bench.options.rounds,
          async (contender, round) => {
            const target = running.get(contender) as RunningTarget & { readonly opsPort: number };
            const seconds = quick ? 0.5 : (bench.options.seconds ?? sampleSeconds);
            const scraping = contender === observabilityContenders.plain ? undefined : scrape(target.opsPort);
            const sample = await measure(bench, target, seconds);
            scraping?.stop();
            bench.record({ scenario: 'observability', round, contender, ...sample });
          },
        );
        if (collector.received() === 0) throw new Error('no span reached the collector: nothing was measured');
        bench.progress(`${collector.received()} requests reached the collector`);
      } finally {
        await Promise.all([...running.values()].map((target) => target.stop()));
        collector.close();
      }
    }),
};

async function startLane(bench: Bench, contender: LaneName, { endpoint }: Collector) {
  const { dir, member } = bench.site;
  const opsPort = await freePort();
  const args = ['--ops-listen', `127.0.0.1:${opsPort}`];
  if (contender !== observabilityContenders.plain) {
    const file = path.join(dir, 'tracing.json');
    const apiVersion = 'apiserver.config.k8s.io/v1';
    await writeFile(
      file,
      JSON.stringify({ apiVersion, kind: 'TracingConfiguration', endpoint, samplingRatePerMillion }),
    );
    args.push('--tracing-config-file', file);
  }
  if (contender === observabilityContenders.audited) {
    const file = path.join(dir, 'audit.json');
    await writeFile(
      file,
      JSON.stringify({ apiVersion: 'audit.k8s.io/v1', kind: 'Policy', rules: [{ level: 'Metadata' }] }),
    );
    args.push('--audit-policy-file', file, '--audit-log-path', path.join(dir, 'audit.log'));
  }
  // These flags are appended to the default flags: when a flag is given twice, the last one applies.
  return { ...(await startPortcullis(bench.site, member.kubeconfigFile, { args })), opsPort };
}

async function startCollector(): Promise<Collector> {
  let received = 0;
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      received += 1;
      response.writeHead(200, { 'Content-Type': 'application/json' }).end('{}');
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const close = (): void => {
    server.closeAllConnections();
    server.close();
  };
  return { endpoint: `127.0.0.1:${(server.address() as AddressInfo).port}`, received: () => received, close };
}

/**
 * Reads the metrics once a second, which is more often than Prometheus usually does.
 * @returns `stop` ends the reading
 */
function scrape(port: number): { readonly stop: () => void } {
  const once = (): void =>
    void fetch(`http://127.0.0.1:${port}/metrics`).then(
      (answer) => answer.arrayBuffer(),
      () => undefined,
    );
  once();
  const timer = setInterval(once, scrapeEveryMs);
  return { stop: () => clearInterval(timer) };
}

function measure(bench: Bench, target: RunningTarget, seconds: number, maxRequests?: number) {
  return sampleContender(bench, target, { connections, seconds, maxRequests });
}
