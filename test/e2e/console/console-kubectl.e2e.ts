// The commands that the views of the console show, run by kubectl in a shell as somebody would who has copied them.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import { ensureBinaries } from '../../controlplane/build.ts';
import { missingBrowser } from './browser.ts';
import { columnOf, isLive, show } from './console-page.ts';
import { everyClusterIndexed, startConsoleSite } from './console-site.ts';
import type { ConsoleSite } from './console-site.ts';

const run = promisify(execFile);
const missing = missingBrowser();
const needsBrowser = { skip: missing ?? false };
const program = join(import.meta.dirname, '../../../bin/portcullis.mjs');
const checkout = '/console/c/frankfurt/apis/apps/v1/namespaces/shop/deployments/checkout';
const postgres = '/console/c/frankfurt/api/v1/namespaces/shop/pods/postgres-0';
let site: ConsoleSite;
let page: Page;
let kubeconfig: string;
let kubectl: string;

before(async () => {
  if (missing !== undefined) return;
  kubectl = (await ensureBinaries(['kubectl'], { progress: () => undefined }))['kubectl']!;
  site = await startConsoleSite();
  await everyClusterIndexed(site);
  const ca = join(site.folder, 'ca.crt');
  writeFileSync(ca, site.ca);
  kubeconfig = join(site.folder, 'kubeconfig');
  const to = ['--server', site.url, '--certificate-authority', ca, '--token', site.tokenOf('ada')];
  await run(process.execPath, [program, 'kubeconfig', ...to, '--index', '--all', '--output', kubeconfig]);
  ({ page } = await site.logIn('ada', '/console/'));
});
after(() => site?.close());

/** Opens a view, and runs the commands that it shows once they are those; what each has printed. */
async function commandsOf(path: string, until: string): Promise<readonly { line: string; printed: string }[]> {
  await show(page, path);
  await page.locator('main').getByText(until).filter({ visible: true }).first().waitFor();
  const lines = await page.locator('.command code').allInnerTexts();
  assert.ok(lines.length > 0, path);
  return Promise.all(
    lines.map(async (line) => {
      // Neither of them ends, or asks for an editor, in a test.
      const command = line.replace(/ -f$/, '').replace('portcullis-CLUSTER', 'portcullis-frankfurt');
      const env = { PATH: `${dirname(kubectl)}:${process.env['PATH']}`, HOME: site.folder, KUBECONFIG: kubeconfig };
      const { stdout } = await run('sh', ['-c', command], { env }).catch((error: Error & { stdout?: string }) => {
        // "no" is the exit code 1 of `kubectl auth can-i`.
        if (line.includes(' can-i ') && error.stdout?.startsWith('no')) return { stdout: error.stdout };
        throw error;
      });
      return { line, printed: stdout };
    }),
  );
}

test('the command of a search prints the rows of its table', needsBrowser, async () => {
  for (const query of [
    'kind=pods&q=ns:shop',
    'kind=deployments.apps&q=label:app=checkout',
    'kind=pods&q=phase=Running',
  ]) {
    await show(page, `/console/search?${query}`);
    await isLive(page);
    const [{ printed } = { printed: '' }] = await commandsOf(`/console/search?${query}`, 'live');
    const names = await columnOf(page, 3);
    assert.ok(names.length > 0);
    for (const name of names) assert.ok(printed.includes(name), `${query}: ${name}`);
  }
});

test('the commands of the other views run, and print what the views are about', needsBrowser, async () => {
  const views: readonly (readonly [path: string, until: string, prints: RegExp])[] = [
    ['/console/', 'frankfurt', /frankfurt[\s\S]*staging[\s\S]*virginia/],
    ['/console/clusters?cluster=frankfurt', 'Conditions', /frankfurt/],
    ['/console/access?namespace=shop&verb=get&resource=pods', 'frankfurt: yes', /ada|yes|no|Resources/],
    ['/console/health', 'index: well', /readyz|freshness|clusters|ok/i],
    [checkout, 'Strategy', /checkout/],
    [`${checkout}?tab=yaml`, 'apiVersion', /kind: Deployment/],
    [`${checkout}?tab=events`, 'Last seen', /checkout|No events/],
    [`${checkout}?tab=related`, 'ReplicaSet', /checkout-/],
    [`${postgres}?tab=related`, 'StatefulSet', /postgres/],
    [`${postgres}?tab=logs`, 'following', /LOG:  /],
  ];
  for (const [path, until, prints] of views)
    for (const { line, printed } of await commandsOf(path, until)) assert.match(printed, prints, line);
});
