// A gateway with its console, three simulated clusters that change only when a test says so, and a browser.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { readConfig } from '../../../config/config.ts';
import { makeLog } from '../../../lib/log.ts';
import { startGateway } from '../../../gateway/start/gateway.ts';
import type { Gateway } from '../../../gateway/start/gateway.ts';
import { startSimulator } from '../../../sim/server.ts';
import type { Simulator } from '../../../sim/server.ts';
import { demoUsers, seedWorkloads } from '../../../sim/workloads/workloads.ts';
import { eventually } from '../../site/polling.ts';
import { launchBrowser } from './browser.ts';
import { tempDir } from '../../pretend/temp-dir.ts';

const root = join(import.meta.dirname, '../../..');

/** A page with what it has complained about and asked for. */
export interface Visit {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Errors on the console, violations of the policy, and exceptions. */
  readonly complaints: string[];
  /** Every address that was asked for. */
  readonly requests: string[];
}

export interface ConsoleSite {
  readonly url: string;
  readonly simulators: readonly Simulator[];
  readonly folder: string;
  /** The certificate of the authority that the gateway's own is from (PEM). */
  readonly ca: Buffer;
  tokenOf(user: string): string;
  /** Asks the gateway itself; the JSON document. */
  ask<T>(user: string, path: string, body?: object): Promise<T>;
  /** A browser of its own, not logged in. */
  visit(path: string, options?: VisitOptions): Promise<Visit>;
  /** The same, logged in by pasting the token. */
  logIn(user: string, path: string, options?: VisitOptions): Promise<Visit>;
  /** Closes the browsers of all visits so far. */
  closeVisits(): Promise<void>;
  /** Ends the gateway and starts it again at the same address, with the state it had. */
  restart(): Promise<void>;
  /** Starts another gateway for the same clusters and users, with a state of its own; its address. */
  startReplica(): Promise<string>;
  close(): Promise<void>;
}

export interface VisitOptions extends BrowserContextOptions {
  readonly dark?: boolean;
  readonly width?: number;
  /** Where the gateway is reached, when not at its own address. */
  readonly url?: string;
}

/** The URL at which the gateway reaches a cluster. */
export type SimulatorAddress = (simulator: Simulator) => string;

const names = ['frankfurt', 'virginia', 'staging'];
const credential = 'credential-of-the-gateway';

/**
 * Starts everything.
 * @param settings further keys of the configuration file
 * @param port of the gateway; 0 for a free one
 * @param seed fills the clusters further, before the gateway knows them
 * @param addressOf where the gateway reaches a cluster
 */
export async function startConsoleSite(
  settings: Readonly<Record<string, unknown>> = {},
  port = 0,
  seed: (simulators: readonly Simulator[]) => void = () => undefined,
  addressOf: SimulatorAddress = ({ url }) => url,
): Promise<ConsoleSite> {
  execFileSync(process.execPath, [join(root, 'console/build.ts')], { stdio: 'inherit' });
  const folder = tempDir('console');
  const simulators: Simulator[] = [];
  for (const [i, name] of names.entries()) {
    const tokens = { [credential]: { name: 'gateway', groups: ['system:masters'] } };
    const simulator = await startSimulator({ name, tokens, logPeriodMs: 200 });
    seedWorkloads(simulator.store, { name, seed: i + 1 }).close();
    simulators.push(simulator);
  }
  seed(simulators);
  writeFileSync(join(folder, 'members.yaml'), stringify(kubeconfigOf(simulators, addressOf)));
  const lines = demoUsers.map(({ name, groups }) => `${name}-token,${name},${name},"${groups.join(',')}"\n`);
  writeFileSync(join(folder, 'tokens.csv'), lines.join(''));
  writeFileSync(join(folder, 'config.yaml'), stringify({ probeIntervalSeconds: 1, indexResources: '*', ...settings }));
  const start = (at: string, state: string): Promise<Gateway> =>
    startGateway(
      readConfig({
        config: join(folder, 'config.yaml'),
        listen: at,
        opsListen: '127.0.0.1:0',
        dataDir: join(folder, state),
        kubeconfig: [join(folder, 'members.yaml')],
        tokenAuthFile: join(folder, 'tokens.csv'),
      }),
      makeLog('error'),
      '0.0.0',
    );
  const gateway = await start(`127.0.0.1:${port}`, 'state');
  const browser = await launchBrowser();
  return makeSite({ gateway, start, simulators, browser, folder });
}

interface SiteParts {
  readonly gateway: Gateway;
  readonly start: (at: string, state: string) => Promise<Gateway>;
  readonly simulators: readonly Simulator[];
  readonly browser: Browser;
  readonly folder: string;
}

/** Where the index of the gateway is. */
export const indexPath = '/apis/search.portcullis.io/v1alpha1/indexes/default';

/** Waits until the index has rows of every cluster. */
export async function everyClusterIndexed(site: ConsoleSite): Promise<void> {
  await eventually('every cluster is in the index', async () => {
    const path = `${indexPath}/facets?resource=pods&by=cluster`;
    const { facets } = await site.ask<{ facets: readonly object[] }>('ada', path);
    return facets.length === names.length;
  });
}

/** The cluster in which changes need a typed name. */
export const protectedCluster = 'virginia';

function kubeconfigOf(simulators: readonly Simulator[], addressOf: SimulatorAddress): object {
  return {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: simulators.map((simulator) => ({
      name: simulator.name,
      cluster: {
        server: addressOf(simulator),
        'certificate-authority-data': Buffer.from(simulator.caPem).toString('base64'),
      },
    })),
    users: [{ name: 'gateway', user: { token: credential } }],
    contexts: simulators.map(({ name }) => ({
      name,
      context: {
        cluster: name,
        user: 'gateway',
        extensions: [
          {
            name: 'gateway.portcullis.io/labels',
            extension: { 'console.portcullis.io/protected': String(name === protectedCluster) },
          },
        ],
      },
    })),
  };
}

function makeSite({ gateway, start, simulators, browser, folder }: SiteParts): ConsoleSite {
  const { url } = gateway;
  const running = [gateway];
  const contexts: BrowserContext[] = [];
  const tokenOf = (user: string): string => `${user}-token`;
  const ca = readFileSync(gateway.caFile!);
  const site: ConsoleSite = {
    url,
    simulators,
    folder,
    ca,
    tokenOf,
    async ask<T>(user: string, path: string, body?: object) {
      const { request } = await import('node:https');
      return new Promise<T>((resolve, reject) => {
        const headers = { authorization: `Bearer ${tokenOf(user)}`, 'content-type': 'application/json' };
        const sent = request(url + path, { ca, headers, method: body === undefined ? 'GET' : 'POST' }, (answer) => {
          let text = '';
          answer.setEncoding('utf8').on('data', (part: string) => (text += part));
          answer.on('end', () => resolve(JSON.parse(text) as T));
        }).on('error', reject);
        sent.end(body && JSON.stringify(body));
      });
    },
    async visit(path, { dark = false, width = 1440, url: at = url, ...options } = {}) {
      const context = await browser.newContext({
        ignoreHTTPSErrors: true,
        colorScheme: dark ? 'dark' : 'light',
        viewport: { width, height: 900 },
        ...options,
      });
      contexts.push(context);
      const page = await context.newPage();
      const complaints: string[] = [];
      const requests: string[] = [];
      page.on('console', (message) => void (message.type() === 'error' && complaints.push(message.text())));
      page.on('pageerror', (error) => void complaints.push(String(error)));
      page.on('request', (request) => void requests.push(request.url()));
      await page.goto(at + path);
      return { page, context, complaints, requests };
    },
    async logIn(user, path, options) {
      const visit = await site.visit(path, options);
      await visit.page.getByLabel('Bearer token').fill(tokenOf(user));
      await visit.page.getByRole('button', { name: 'Log in with the token' }).click();
      await visit.page.getByRole('link', { name: user, exact: true }).waitFor();
      return visit;
    },
    async closeVisits() {
      for (const context of contexts.splice(0)) await context.close();
    },
    async restart() {
      await running[0]!.drain();
      running[0] = await start(new URL(url).host, 'state');
    },
    async startReplica() {
      const replica = await start('127.0.0.1:0', `replica-${running.length}`);
      running.push(replica);
      return replica.url;
    },
    async close() {
      await browser.close();
      await Promise.all(running.map((each) => each.drain()));
      await Promise.all(simulators.map((simulator) => simulator.close()));
    },
  };
  return site;
}
