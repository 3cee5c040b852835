// The alerts and dashboards of the chart, read by Prometheus' own parsers: as `promtool check rules` does, with the
// templates of the annotations.
import assert from 'node:assert/strict';
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { chartFolder } from '../../chart/helm.ts';
import { ensureBinaries } from '../../controlplane/build.ts';
import { runCommand } from '../../controlplane/processes.ts';
import { tempDir } from '../../pretend/temp-dir.ts';

const alerts = join(chartFolder, 'files/alerts.yaml');

/** What Prometheus says of a file of rules; '' when it takes it. */
async function faultsIn(text: string): Promise<string> {
  const { 'promql-oracle': oracle } = await ensureBinaries(['promql-oracle']);
  const folder = tempDir('alerts');
  const file = join(folder, 'alerts.yaml');
  writeFileSync(file, text);
  const { code, stdout, stderr } = await runCommand(oracle!, ['rules', file]);
  assert.equal(code, 0, stderr);
  return stdout;
}

test('Prometheus takes every alert, and would not take a broken expression, duration or template', async () => {
  const text = readFileSync(alerts, 'utf8');
  assert.equal(await faultsIn(text), '');
  for (const [good, bad, words] of [
    ['absent(portcullis_build_info)', 'absent(portcullis_build_info', /unclosed left parenthesis/],
    ['for: 5m', 'for: soon', /not a valid duration|invalid duration/i],
    ['{{ $labels.reason }}', '{{ $label.reason }}', /undefined variable "\$label"/],
  ] as const) {
    assert.ok(text.includes(good), good);
    assert.match(await faultsIn(text.replace(good, bad)), words);
  }
});

test('Prometheus takes every expression of the dashboards', async () => {
  const { 'promql-oracle': oracle } = await ensureBinaries(['promql-oracle']);
  const expressions = globSync(join(chartFolder, 'dashboards', '*.json')).flatMap((file) => {
    const { panels } = JSON.parse(readFileSync(file, 'utf8')) as { panels: { targets?: { expr: string }[] }[] };
    return panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
  });
  assert.ok(expressions.length > 50);
  // Grafana puts a duration in the place of this variable; the others stand in strings.
  const asked = [...expressions.map((expr) => expr.replaceAll('$__rate_interval', '5m')), 'sum by ('];
  const stdin = asked.map((expr) => `${JSON.stringify(expr)}\n`).join('');
  const { stdout } = await runCommand(oracle!, ['expressions'], { stdin });
  const answers = stdout.trimEnd().split('\n');
  assert.match(answers.pop()!, /parse error/, 'a broken one is noticed');
  assert.deepEqual(
    asked.filter((_, i) => i < answers.length && answers[i] !== 'good'),
    [],
  );
  assert.equal(answers.length, expressions.length);
});
