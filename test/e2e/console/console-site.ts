// A gateway with its console, three simulated clusters that change only when a test says so, and a browser.
import { execFileSync } from 'node:child_process';
import { readFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { chromium } from 'playwright-core';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { readConfig } from '../../../gateway/config/config.ts';
import { makeLog } from '../../../gateway/operations/log.ts';
import { startGateway } from '../../../gateway/start/gateway.ts';
import type { Gateway } from '../../../gateway/start/gateway.ts';
import { startSimulator } from '../../../sim/server.ts';
import type { Simulator } from '../../../sim/server.ts';
import { demoUsers, seedWorkloads } from '../../../sim/workloads/workloads.ts';

const root = join(import.meta.dirname, '../../..');

/** Why there can be no browser here; undefined when there can. */
export function missingChromium(): string | undefined {
  try {
    execFileSync('which', ['chromium'], { stdio: 'ignore' });
    return undefined;
  } catch {
    return 'needs chromium (Debian: apt-get install chromium)';
  }
}

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
  readonly gateway: Gateway;
  readonly simulators: readonly Simulator[];
  readonly folder: string;
  tokenOf(user: string): string;
  /** Asks the gateway itself; the JSON document. */
  ask<T>(user: string, path: string, body?: object): Promise<T>;
  /** A browser of its own, not logged in. */
  visit(path: string, options?: { readonly dark?: boolean; readonly width?: number }): Promise<Visit>;
  /** The same, logged in by pasting the token. */
  logIn(user: string, path: string, options?: { readonly dark?: boolean; readonly width?: number }): Promise<Visit>;
  close(): Promise<void>;
}

const names = ['frankfurt', 'virginia', 'staging'];
const credential = 'credential-of-the-gateway';

/**
 * Starts everything.
 * @param settings further keys of the configuration file
 * @param port of the gateway; 0 for a free one
 */
export async function startConsoleSite(
  settings: Readonly<Record<string, unknown>> = {},
  port = 0,
): Promise<ConsoleSite> {
  execFileSync(process.execPath, [join(root, 'console/build.ts')], { stdio: 'inherit' });
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-console-'));
  const simulators: Simulator[] = [];
  for (const [i, name] of names.entries()) {
    const tokens = { [credential]: { name: 'gateway', groups: ['system:masters'] } };
    const simulator = await startSimulator({ name, tokens, logPeriodMs: 200 });
    seedWorkloads(simulator.store, { name, seed: i + 1 }).close();
    simulators.push(simulator);
  }
  writeFileSync(join(folder, 'members.yaml'), stringify(kubeconfigOf(simulators)));
  const lines = demoUsers.map(({ name, groups }) => `${name}-token,${name},${name},"${groups.join(',')}"\n`);
  writeFileSync(join(folder, 'tokens.csv'), lines.join(''));
  writeFileSync(join(folder, 'config.yaml'), stringify({ probeIntervalSeconds: 1, indexResources: '*', ...settings }));
  const config = readConfig({
    config: join(folder, 'config.yaml'),
    listen: `127.0.0.1:${port}`,
    opsListen: '127.0.0.1:0',
    dataDir: join(folder, 'state'),
    kubeconfig: [join(folder, 'members.yaml')],
    tokenAuthFile: join(folder, 'tokens.csv'),
  });
  const gateway = await startGateway(config, makeLog('error'), '0.0.0');
  const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] });
  return makeSite(gateway, simulators, browser, folder);
}

function kubeconfigOf(simulators: readonly Simulator[]): object {
  return {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: simulators.map(({ name, url, caPem }) => ({
      name,
      cluster: { server: url, 'certificate-authority-data': Buffer.from(caPem).toString('base64') },
    })),
    users: [{ name: 'gateway', user: { token: credential } }],
    contexts: simulators.map(({ name }) => ({ name, context: { cluster: name, user: 'gateway' } })),
  };
}

function makeSite(gateway: Gateway, simulators: readonly Simulator[], browser: Browser, folder: string): ConsoleSite {
  const { url } = gateway;
  const tokenOf = (user: string): string => `${user}-token`;
  const ca = readFileSync(gateway.caFile!);
  const site: ConsoleSite = {
    url,
    gateway,
    simulators,
    folder,
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
    async visit(path, { dark = false, width = 1440 } = {}) {
      const context = await browser.newContext({
        ignoreHTTPSErrors: true,
        colorScheme: dark ? 'dark' : 'light',
        viewport: { width, height: 900 },
      });
      const page = await context.newPage();
      const complaints: string[] = [];
      const requests: string[] = [];
      page.on('console', (message) => void (message.type() === 'error' && complaints.push(message.text())));
      page.on('pageerror', (error) => void complaints.push(String(error)));
      page.on('request', (request) => void requests.push(request.url()));
      await page.goto(url + path);
      return { page, context, complaints, requests };
    },
    async logIn(user, path, options) {
      const visit = await site.visit(path, options);
      await visit.page.getByLabel('Bearer token').fill(tokenOf(user));
      await visit.page.getByRole('button', { name: 'Log in with the token' }).click();
      await visit.page.getByRole('link', { name: user, exact: true }).waitFor();
      return visit;
    },
    async close() {
      await browser.close();
      await gateway.drain();
      await Promise.all(simulators.map((simulator) => simulator.close()));
      rmSync(folder, { recursive: true, force: true });
    },
  };
  return site;
}
