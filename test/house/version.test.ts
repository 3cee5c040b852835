import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';
import { packageVersion } from '../../cli/version.ts';
import { portcullisVersion } from '../../gateway/workers/serve.ts';

const root = join(import.meta.dirname, '../..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const { version } = JSON.parse(read('package.json')) as { version: string };

test('the version of package.json is that of the program, the lock file, the chart, the image and the newest entry of the changelog', () => {
  const lock = JSON.parse(read('package-lock.json')) as { version: string; packages: { '': { version: string } } };
  const chart = parse(read('charts/portcullis/Chart.yaml')) as { version: string; appVersion: string };
  const image = /^ARG VERSION=(.*)$/m.exec(read('Containerfile'))?.[1];
  const changelog = /^## \[(\d.*)\]/m.exec(read('CHANGELOG.md'))?.[1];
  assert.deepEqual(
    {
      command: packageVersion(),
      // What /version adds to the version of Kubernetes.
      gateway: portcullisVersion(),
      lock: lock.version,
      locked: lock.packages[''].version,
      chart: chart.version,
      program: chart.appVersion,
      image,
      changelog,
    },
    {
      command: version,
      gateway: version,
      lock: version,
      locked: version,
      chart: version,
      program: version,
      image: version,
      changelog: version,
    },
  );
});
