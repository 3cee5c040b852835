// The setup in which the console is measured: simulated clusters with any number of pods, a gateway in a process of its
// own, and a browser.
import { join } from 'node:path';

import {
  startConsoleSite,
  type ConsoleSite,
  type Visit,
  type VisitOptions,
} from '../../test/e2e/console/console-site.ts';
import { freePort } from '../../test/controlplane/processes.ts';
import { startProcess, type LiveProcesses } from '../process.ts';

export interface ConsoleBench {
  readonly site: ConsoleSite;
  /** Process id of the measured gateway. */
  readonly pid: number;
  /** Opens a page of the measured gateway in a new browser context, without logging in. */
  visit(path: string, options?: VisitOptions): Promise<Visit>;
  /** Opens a page of the measured gateway in a new browser context, logged in as the user `ada`. */
  logIn(path: string, options?: VisitOptions): Promise<Visit>;
  /** Changes the given number of pods, one after the other, so that their rows in a table change. */
  change(count: number): void;
  close(): Promise<void>;
}

const user = 'ada';
const readyMs = 180_000;
const pauseMs = 200;

/** Returns a pod that runs already, so that no controller of its simulated cluster changes it during a measurement. */
function runningPod(name: string): Record<string, unknown> {
  const image = 'example.com/bench:1.0.0';
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'shop', labels: { app: 'bench', tier: 'web', team: 'performance' } },
    spec: { nodeName: 'bench-node', containers: [{ name: 'main', image }] },
    status: {
      phase: 'Running',
      podIP: '10.0.0.1',
      conditions: [{ type: 'Ready', status: 'True' }],
      containerStatuses: [
        { name: 'main', image, imageID: '', ready: true, started: true, restartCount: 0, state: { running: {} } },
      ],
    },
  };
}

/**
 * Starts clusters, gateway and browser; resolves when the gateway serves the console.
 * @param pods number of pods in all clusters together
 */
export async function startConsoleBench(pods: number): Promise<ConsoleBench> {
  const names: (readonly [cluster: number, name: string])[] = [];
  // startConsoleSite also starts a gateway in this process, which is not measured. With these settings it uses little
  // CPU time, so that the simulated clusters, which run in this process too, get it.
  const settings = { probeIntervalSeconds: 10, indexResources: 'namespaces' };
  const site = await startConsoleSite(settings, 0, (simulators) => {
    for (let i = 0; i < pods; i++) {
      const cluster = i % simulators.length;
      const name = `bench-${i}`;
      simulators[cluster]!.store.apply(runningPod(name));
      names.push([cluster, name]);
    }
  });
  const live: LiveProcesses = new Set();
  const port = await freePort();
  const url = `https://127.0.0.1:${port}`;
  const file = (name: string): string => join(site.folder, name);
  const process_ = await startProcess(
    {
      name: 'portcullis',
      command: process.execPath,
      args: [
        join(import.meta.dirname, '../../bin/portcullis.mjs'),
        ...['serve', '--config', file('config.yaml'), '--kubeconfig', file('members.yaml')],
        ...['--index-resources', '*', '--token-auth-file', file('tokens.csv'), '--data-dir', file('bench')],
        ...['--listen', `127.0.0.1:${port}`, '--ops-listen', '127.0.0.1:0'],
      ],
    },
    live,
  );
  const visit = (path: string, options: VisitOptions = {}): Promise<Visit> => site.visit(path, { ...options, url });
  let turn = 0;
  const bench: ConsoleBench = {
    site,
    pid: process_.pid,
    visit,
    logIn: (path, options) => site.logIn(user, path, { ...options, url }),
    change(count) {
      for (let i = 0; i < count; i++) {
        const [cluster, name] = names[turn++ % names.length]!;
        const restarts = turn;
        site.simulators[cluster]!.store.update('Pod', 'shop', name, (next) => {
          const { containerStatuses } = next['status'] as { containerStatuses: { restartCount: number }[] };
          containerStatuses[0]!.restartCount = restarts;
        });
      }
    },
    async close() {
      await process_.stop();
      await site.close();
    },
  };
  try {
    await untilServed(bench, process_.words);
    return bench;
  } catch (error) {
    await bench.close();
    throw error;
  }
}

async function untilServed({ visit }: ConsoleBench, words: () => string): Promise<void> {
  const untilMs = performance.now() + readyMs;
  for (;;) {
    const visited = await visit('/console/config.json').catch(() => undefined);
    await visited?.context.close();
    if (visited !== undefined) return;
    if (performance.now() > untilMs) throw new Error(`the gateway does not serve the console: ${words()}`);
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}
