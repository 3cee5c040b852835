// Takes the pictures of README and the how-to pages from the demo: `npm run screenshots`. With a folder
// (`npm run screenshots -- FOLDER`) it takes every view in its place, in three widths and both themes, to be looked at.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { eventually } from '../../site/polling.ts';
import { rowsOf, show } from './console-page.ts';
import { startConsoleDemo } from './console-demo.ts';

interface View {
  readonly name: string;
  readonly path: string;
  /** A text by which the view has all that it shows. */
  readonly until: string;
}

const recommendations = '/console/c/frankfurt/apis/apps/v1/namespaces/shop/deployments/recommendations';
const pictures: readonly View[] = [
  { name: 'clusters', path: '/console/clusters?cluster=virginia', until: 'Conditions' },
  { name: 'search', path: '/console/search?kind=pods&q=ns:shop&sort=Status', until: 'CrashLoopBackOff' },
  { name: 'object', path: `${recommendations}?tab=related`, until: 'ReplicaSet' },
  { name: 'access', path: '/console/access?namespace=shop&verb=delete&resource=pods', until: 'frankfurt: yes' },
];
const others: readonly View[] = [
  { name: 'clusters-all', path: '/console/', until: 'frankfurt' },
  { name: 'search-none', path: '/console/search?q=nothing-has-this', until: 'No pods here' },
  { name: 'search-refused', path: '/console/search?q=spec.%5Bx%3D1', until: 'does not understand' },
  { name: 'search-no-kind', path: '/console/search?kind=nosuch', until: 'is not in the index' },
  { name: 'summary', path: recommendations, until: 'Strategy' },
  { name: 'yaml', path: `${recommendations}?tab=yaml`, until: 'apiVersion' },
  { name: 'events', path: `${recommendations}?tab=events`, until: 'Last seen' },
  { name: 'logs', path: `${recommendations}?tab=logs`, until: 'following' },
  { name: 'missing', path: '/console/c/frankfurt/api/v1/nodes/none', until: '404' },
  { name: 'health', path: '/console/health', until: 'index: well' },
  { name: 'design', path: '/console/design', until: 'Refusals' },
  { name: 'nowhere', path: '/console/nowhere', until: 'no such view' },
];

async function take(page: Page, { name, path, until }: View, file: string): Promise<void> {
  await show(page, path);
  await page.locator('main').getByText(until).filter({ visible: true }).first().waitFor();
  await page.screenshot({ path: file });
  process.stdout.write(`${file} (${name})\n`);
}

const [folder] = process.argv.slice(2);
const demo = await startConsoleDemo();
try {
  const page = await demo.newPage();
  await page.goto(demo.linkOf('ada'));
  await rowsOf(page).nth(2).waitFor();
  await show(page, '/console/search?kind=pods&q=waiting=CrashLoopBackOff');
  await eventually('the story has begun', async () => (await rowsOf(page).count()) === 1, { timeoutMs: 60_000 });
  const to = folder ?? join(import.meta.dirname, '../../../docs/images');
  mkdirSync(to, { recursive: true });
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    for (const width of folder === undefined ? [1280] : [1440, 1024, 390]) {
      await page.setViewportSize({ width, height: folder === undefined ? 640 : 900 });
      for (const view of folder === undefined ? pictures : [...pictures, ...others]) {
        const size = folder === undefined ? '' : `-${width}`;
        await take(page, view, join(to, `console-${view.name}-${colorScheme}${size}.png`));
      }
    }
  }
} finally {
  await demo.close();
}
