// A headless Chromium with a client certificate that it shows without asking, driven over its own DevTools protocol.
// Its home, profile and certificate store are a folder that goes away with it; the policy that chooses the certificate
// can only be a file below /etc, and is removed at the end.
import { execFileSync, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const policyFolder = '/etc/chromium/policies/managed';

/** What a browser is started with. */
export interface BrowserOptions {
  /** PEM of the authority it trusts for servers. */
  readonly ca: string;
  /** PEM of the certificate it has, and of its key. */
  readonly shown: { readonly cert: string; readonly key: string };
  /** Sites that it shows the certificate to, as in the policy AutoSelectCertificateForUrls. */
  readonly sites: readonly string[];
  /** Host names that lead to 127.0.0.1, with `*`. */
  readonly localNames: readonly string[];
}

/** A running browser with one tab. */
export interface Browser {
  /** Goes to an address as if it was typed; resolves when the page and all it embeds have loaded or failed. */
  visit(url: string): Promise<void>;
  /** Value of an expression in the page; a promise is waited for. */
  evaluate(expression: string): Promise<unknown>;
  /** Clicks the element as a person would; resolves when the page it leads to has loaded. */
  follow(selector: string): Promise<void>;
  close(): Promise<void>;
}

/** Why there can be no browser here; undefined when there can. */
export function missingBrowser(): string | undefined {
  for (const program of ['chromium', 'certutil', 'pk12util', 'openssl']) {
    try {
      execFileSync('which', [program], { stdio: 'ignore' });
    } catch {
      return `needs ${program} (Debian: apt-get install chromium libnss3-tools openssl)`;
    }
  }
  try {
    mkdirSync(policyFolder, { recursive: true });
  } catch (error) {
    return `needs to write ${policyFolder}: ${(error as Error).message}`;
  }
  return undefined;
}

/** Starts it. */
export async function startBrowser(options: BrowserOptions): Promise<Browser> {
  const home = mkdtempSync(join(tmpdir(), 'portcullis-chromium-'));
  fillCertificateStore(home, options);
  const policy = join(policyFolder, `portcullis-test-${process.pid}.json`);
  const chosen = options.sites.map((pattern) => JSON.stringify({ pattern, filter: {} }));
  writeFileSync(policy, JSON.stringify({ AutoSelectCertificateForUrls: chosen }));
  const child = spawn(
    'chromium',
    [
      '--headless=new',
      '--no-sandbox',
      '--disable-gpu',
      '--disable-dev-shm-usage',
      '--disable-background-networking',
      '--no-first-run',
      '--remote-debugging-port=0',
      `--user-data-dir=${join(home, 'profile')}`,
      `--host-resolver-rules=${options.localNames.map((name) => `MAP ${name} 127.0.0.1`).join(',')}`,
      'about:blank',
    ],
    { env: { PATH: process.env['PATH'], HOME: home }, stdio: ['ignore', 'ignore', 'pipe'], detached: true },
  );
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const close = async (): Promise<void> => {
    if (child.exitCode === null && child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
    await exited;
    rmSync(policy, { force: true });
    rmSync(home, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  };
  try {
    const tab = await openTab(await debuggingPort(child));
    return { ...driver(tab), close };
  } catch (error) {
    await close();
    throw error;
  }
}

function fillCertificateStore(home: string, { ca, shown }: BrowserOptions): void {
  const store = join(home, '.pki', 'nssdb');
  mkdirSync(store, { recursive: true });
  const file = (name: string, text: string): string => {
    writeFileSync(join(home, name), text, { mode: 0o600 });
    return join(home, name);
  };
  const run = (program: string, ...args: string[]): void => void execFileSync(program, args, { stdio: 'pipe' });
  const [cert, key, bundle] = [file('user.crt', shown.cert), file('user.key', shown.key), join(home, 'user.p12')];
  run(
    'openssl',
    'pkcs12',
    '-export',
    '-in',
    cert,
    '-inkey',
    key,
    '-out',
    bundle,
    '-passout',
    'pass:x',
    '-name',
    'user',
  );
  run('certutil', '-N', '-d', `sql:${store}`, '--empty-password');
  run('pk12util', '-i', bundle, '-d', `sql:${store}`, '-W', 'x', '-K', '');
  run('certutil', '-A', '-d', `sql:${store}`, '-n', 'gateway', '-t', 'C,,', '-i', file('ca.crt', ca));
}

async function debuggingPort(child: ChildProcess): Promise<string> {
  const said: string[] = [];
  for await (const line of createInterface({ input: child.stderr! })) {
    const port = /DevTools listening on ws:\/\/127\.0\.0\.1:(\d+)\//.exec(line)?.[1];
    if (port !== undefined) {
      // What it says later is read, too: it would wait for that.
      child.stderr!.resume();
      return port;
    }
    said.push(line);
  }
  throw new Error(`chromium ended before it could be driven:\n${said.join('\n')}`);
}

/** One DevTools session. */
interface Tab {
  call(method: string, params?: object): Promise<Record<string, unknown>>;
  /** The next event of that name. */
  event(name: string): Promise<void>;
}

async function openTab(port: string): Promise<Tab> {
  const answer = await fetch(`http://127.0.0.1:${port}/json/new?about:blank`, { method: 'PUT' });
  const { webSocketDebuggerUrl } = (await answer.json()) as { webSocketDebuggerUrl: string };
  const socket = new WebSocket(webSocketDebuggerUrl);
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve);
    socket.addEventListener('error', reject);
  });
  const calls = new Map<number, PromiseWithResolvers<Record<string, unknown>>>();
  const events = new Map<string, PromiseWithResolvers<void>>();
  socket.addEventListener('message', ({ data }) => {
    const message = JSON.parse(String(data)) as { id?: number; method?: string; result?: object; error?: object };
    const waiting = calls.get(message.id ?? -1);
    if (message.error !== undefined) waiting?.reject(new Error(JSON.stringify(message.error)));
    else waiting?.resolve((message.result ?? {}) as Record<string, unknown>);
    events.get(message.method ?? '')?.resolve();
    events.delete(message.method ?? '');
  });
  let last = 0;
  const tab: Tab = {
    call(method, params = {}) {
      last += 1;
      const waiting = Promise.withResolvers<Record<string, unknown>>();
      calls.set(last, waiting);
      socket.send(JSON.stringify({ id: last, method, params }));
      return waiting.promise;
    },
    event(name) {
      const waiting = events.get(name) ?? Promise.withResolvers<void>();
      events.set(name, waiting);
      return waiting.promise;
    },
  };
  await tab.call('Page.enable');
  return tab;
}

function driver(tab: Tab): Omit<Browser, 'close'> {
  const loaded = async (start: () => Promise<unknown>): Promise<void> => {
    const load = tab.event('Page.loadEventFired');
    await start();
    await load;
  };
  const evaluate = async (expression: string, userGesture = false): Promise<unknown> => {
    const asked = { expression, awaitPromise: true, returnByValue: true, userGesture };
    const { result, exceptionDetails } = (await tab.call('Runtime.evaluate', asked)) as {
      result: { value?: unknown };
      exceptionDetails?: object;
    };
    if (exceptionDetails !== undefined) throw new Error(JSON.stringify(exceptionDetails));
    return result.value;
  };
  return {
    visit: (url) => loaded(() => tab.call('Page.navigate', { url })),
    evaluate: (expression) => evaluate(expression),
    follow: (selector) => loaded(() => evaluate(`document.querySelector(${JSON.stringify(selector)}).click()`, true)),
  };
}
