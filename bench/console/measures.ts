// The measurements of the web console in a real Chromium: what the console loads, how soon its first table appears,
// long tables, tables that change all the time, and what open consoles that nobody uses cost the gateway.
import type { CDPSession, Page } from 'playwright-core';

import { isLive, rowsOf, show } from '../../test/e2e/console/console-page.ts';
import { cpuSecondsBetween, readCpu } from '../figures/accounting.ts';
import { median, quantile } from '../figures/statistics.ts';
import type { ConsoleBench } from './site.ts';

/**
 * One measured figure. `says` describes it; `bound` is its upper limit, undefined for a figure that is only printed.
 */
export interface Figure {
  readonly says: string;
  readonly value: number;
  readonly unit: string;
  readonly bound?: number;
}

/** How much a run measures: pods in all clusters together, repeated loads of the page, open consoles, and durations. */
export interface Shape {
  readonly pods: number;
  readonly loads: number;
  /** Minutes for which 50 pods a second change while a table of all pods is open. */
  readonly busyMinutes: number;
  readonly consoles: number;
  /** Seconds for which the gateway's CPU time is measured while nobody uses the open consoles. */
  readonly restSeconds: number;
}

const changesPerSecond = 50;
const oneKb = 1000;
const wholeTable = '/console/search?kind=pods&q=label:app=bench';
const postgres = '/console/c/frankfurt/api/v1/namespaces/shop/pods/postgres-0';

/** JavaScript for the page: the size in bytes, as sent, of all files of the console that the page has loaded so far. */
const loadedBytes = `[...performance.getEntriesByType('resource'), ...performance.getEntriesByType('navigation')]
  .filter(({ name }) => name.includes('/console/'))
  .reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0)`;

/**
 * Measures bytes and requests before the first table appears, and the bytes of editor and terminal, which load later.
 */
export async function measureBytes({ logIn }: ConsoleBench): Promise<readonly Figure[]> {
  const { page, context, requests } = await logIn('/console/');
  await rowsOf(page).nth(2).waitFor();
  const shell = await page.evaluate<number>(loadedBytes);
  const files = requests.filter((url) => url.includes('/console/')).length;
  await show(page, `${postgres}?tab=yaml`);
  await page.locator('.cm-content').waitFor();
  const withEditor = await page.evaluate<number>(loadedBytes);
  await show(page, `${postgres}?tab=terminal`);
  await page.getByRole('button', { name: 'Open a shell' }).click();
  await page.getByText('open; Ctrl+Shift+E').waitFor();
  const withTerminal = await page.evaluate<number>(loadedBytes);
  await context.close();
  return [
    { says: 'page, style and script before the first table', value: shell / oneKb, unit: 'kB', bound: 60 },
    { says: 'requests for them', value: files, unit: '', bound: 6 },
    { says: 'editor, when a text is shown', value: (withEditor - shell) / oneKb, unit: 'kB', bound: 120 },
    { says: 'terminal, when a shell is opened', value: (withTerminal - withEditor) / oneKb, unit: 'kB', bound: 100 },
  ];
}

/**
 * JavaScript for the page: notes when the log-in form and the first row of a table appear, and when the form is
 * submitted.
 */
const watchFirst = `
  window.at = {};
  new MutationObserver(() => {
    if (document.querySelector('input[type=password]')) at.form ??= performance.now();
    if (document.querySelector('.rows tbody tr')) requestAnimationFrame(() => (at.row ??= performance.now()));
  }).observe(document, { childList: true, subtree: true });
  addEventListener('submit', () => (at.submit = performance.now()), true);
`;

/**
 * Measures how long loading the page and logging in take until the first table appears, without the time in which the
 * test types. Each load uses a new browser context, so that no file of the console is cached.
 */
export async function measureFirstTable(bench: ConsoleBench, { loads }: Shape): Promise<readonly Figure[]> {
  const times: number[] = [];
  for (let i = 0; i < loads; i++) {
    const { page, context } = await bench.visit('/console/config.json');
    await page.addInitScript(watchFirst);
    await page.goto(new URL('/console/', page.url()).href);
    await page.getByLabel('Bearer token').fill(bench.site.tokenOf('ada'));
    await page.getByRole('button', { name: 'Log in with the token' }).click();
    await rowsOf(page).first().waitFor();
    await page.waitForFunction('at.row !== undefined');
    const { form, submit, row } = await page.evaluate<Record<'form' | 'submit' | 'row', number>>('at');
    times.push(form + row - submit);
    await context.close();
  }
  return [
    { says: 'load and log-in until the first table, p50', value: median(times), unit: 'ms', bound: 500 },
    { says: 'the same, p95', value: quantile(times, 0.95), unit: 'ms' },
  ];
}

/** Milliseconds for which scripts, styles and layout have used the main thread of a page so far. */
async function busyMs(devTools: CDPSession): Promise<number> {
  const { metrics } = await devTools.send('Performance.getMetrics');
  const of = (name: string): number => metrics.find((each) => each.name === name)?.value ?? 0;
  return 1000 * (of('ScriptDuration') + of('LayoutDuration') + of('RecalcStyleDuration'));
}

async function heapMb(devTools: CDPSession): Promise<number> {
  await devTools.send('HeapProfiler.collectGarbage');
  return (await devTools.send('Runtime.getHeapUsage')).usedSize / 1e6;
}

async function untilRows(page: Page, count: number): Promise<void> {
  await page.locator('.summary strong').getByText(count.toLocaleString('en'), { exact: true }).waitFor({
    timeout: 120_000,
  });
  await isLive(page);
}

const frames = 300;
/**
 * JavaScript for the page: scrolls by 90 pixels in each of 300 frames, and resolves with the milliseconds of each
 * frame.
 */
const scrollFrames = `new Promise((resolve) => {
  const box = document.querySelector('.rows');
  const times = [];
  let last = performance.now();
  const step = (now) => {
    times.push(now - last);
    last = now;
    box.scrollTop += 90;
    if (times.length < ${frames}) requestAnimationFrame(step);
    else resolve(times.slice(1));
  };
  requestAnimationFrame(step);
})`;

/**
 * Measures a table of all pods: main-thread time until it is complete, elements in the document, scrolling, sorting,
 * and narrowing the search.
 */
export async function measureLongTable(bench: ConsoleBench, { pods }: Shape): Promise<readonly Figure[]> {
  const { page, context } = await bench.logIn('/console/');
  await rowsOf(page).nth(2).waitFor();
  const devTools = await context.newCDPSession(page);
  await devTools.send('Performance.enable');
  const before = await busyMs(devTools);
  await show(page, wholeTable);
  await untilRows(page, pods);
  const table = (await busyMs(devTools)) - before;
  const nodes = await page.evaluate<number>(`document.querySelectorAll('*').length`);
  const times = await page.evaluate<readonly number[]>(scrollFrames);
  const sortBefore = await busyMs(devTools);
  await page.getByRole('button', { name: 'Status' }).click();
  await page.locator('th[aria-sort="ascending"]').waitFor();
  const sort = (await busyMs(devTools)) - sortBefore;
  const narrowed = await page.evaluate<number>(`new Promise((resolve) => {
    const began = performance.now();
    const count = () => document.querySelector('.summary strong').textContent;
    const all = count();
    history.pushState(null, '', '${wholeTable}+name:bench-77');
    dispatchEvent(new PopStateEvent('popstate'));
    const look = () => (count() === all ? requestAnimationFrame(look) : resolve(performance.now() - began));
    look();
  })`);
  await context.close();
  const rows = `${pods.toLocaleString('en')} rows`;
  return [
    { says: `${rows}: scripts, styles and layout until all are there`, value: table, unit: 'ms', bound: 250 },
    { says: `${rows}: elements in the document`, value: nodes, unit: '', bound: 1500 },
    { says: `${rows}: a frame while scrolling, p50`, value: median(times), unit: 'ms' },
    { says: `${rows}: a frame while scrolling, p95`, value: quantile(times, 0.95), unit: 'ms', bound: 50 },
    { says: `${rows}: sorting by a column`, value: sort, unit: 'ms' },
    { says: `${rows}: from a further word to the fewer rows, which the index chooses`, value: narrowed, unit: 'ms' },
  ];
}

/**
 * JavaScript for the page: counts renders of the table except those in which only ages tick (`time` elements), and
 * measures how long a pressed key waits for its frame.
 */
const watchBusy = `
  window.drawn = 0;
  window.waits = [];
  const isClock = ({ target }) => (target.closest ? target : target.parentElement)?.closest('time') != null;
  new MutationObserver((all) => void (all.every(isClock) || (drawn += 1)))
    .observe(document.querySelector('.results'), { childList: true, characterData: true, subtree: true });
  document.querySelector('#question').addEventListener('keydown', ({ timeStamp }) =>
    requestAnimationFrame(() => waits.push(performance.now() - timeStamp)));
`;

/** Measures a table of all pods for minutes while 50 of them change per second. */
export async function measureBusyTable(bench: ConsoleBench, { pods, busyMinutes }: Shape): Promise<readonly Figure[]> {
  const { page, context } = await bench.logIn('/console/');
  await rowsOf(page).nth(2).waitFor();
  const devTools = await context.newCDPSession(page);
  await show(page, wholeTable);
  await untilRows(page, pods);
  await page.evaluate(watchBusy);
  const began = performance.now();
  const seconds = (): number => (performance.now() - began) / 1000;
  let done = 0;
  const timer = setInterval(() => {
    const due = Math.floor(seconds() * changesPerSecond) - done;
    bench.change(due);
    done += due;
  }, 20);
  try {
    await page.locator('#question').focus();
    // An arrow key in this field of one line moves the cursor at most, so it changes nothing in the table.
    while (seconds() < busyMinutes * 60) {
      await page.keyboard.press('ArrowLeft');
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  } finally {
    clearInterval(timer);
  }
  const [drawn, waits] = await page.evaluate<[number, readonly number[]]>('[drawn, waits]');
  const lasted = seconds();
  const heap = await heapMb(devTools);
  await context.close();
  const what = `${changesPerSecond} changes a second for ${busyMinutes} min in ${pods.toLocaleString('en')} rows`;
  return [
    { says: `${what}: times the table is drawn`, value: drawn / lasted, unit: 'a second', bound: 4 },
    { says: `${what}: from a key to its frame, p95`, value: quantile(waits, 0.95), unit: 'ms', bound: 100 },
    { says: `${what}: heap of the page`, value: heap, unit: 'MB', bound: 60 },
  ];
}

/** Measures how much CPU time open consoles cost the gateway while nothing changes and nobody uses them. */
export async function measureAtRest(bench: ConsoleBench, shape: Shape): Promise<readonly Figure[]> {
  const { consoles, restSeconds } = shape;
  const share = async (): Promise<number> => {
    const before = readCpu(bench.pid);
    const began = performance.now();
    await new Promise((resolve) => setTimeout(resolve, restSeconds * 1000));
    return (100 * cpuSecondsBetween(before, readCpu(bench.pid))) / ((performance.now() - began) / 1000);
  };
  const alone = await share();
  const open = [];
  for (let i = 0; i < consoles; i++) {
    const visit = await bench.logIn(i % 2 === 0 ? '/console/' : '/console/search?kind=pods&q=ns:kube-system');
    await rowsOf(visit.page).first().waitFor();
    open.push(visit);
  }
  const looked = await share();
  for (const { context } of open) await context.close();
  return [
    { says: 'gateway without a console', value: alone, unit: '% of a core' },
    {
      says: `gateway with ${consoles} consoles at rest, more than without`,
      value: looked - alone,
      unit: '% of a core',
      bound: 2,
    },
  ];
}
