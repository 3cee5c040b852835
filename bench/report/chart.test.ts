import assert from 'node:assert/strict';
import { test } from 'node:test';

import { svgChart } from './chart.ts';

const estimate = (point: number, low = point, high = point) => ({ point, low, high, rounds: 20 });

test('bars of a panel share one scale that starts at zero', () => {
  const bars = [
    { label: 'a', estimate: estimate(100), ours: true },
    { label: 'b', estimate: estimate(50), ours: false },
  ];
  const svg = svgChart([{ title: 'CPU', digits: 0, bars }], 'note');
  const widths = [...svg.matchAll(/<rect class="(?:ours|bar)"[^>]* width="([\d.]+)"/g)].map((match) =>
    Number(match[1]),
  );
  assert.equal(widths.length, 2);
  assert.ok(Math.abs((widths[0] ?? 0) - 2 * (widths[1] ?? 0)) < 0.2);
});

test('text is escaped and panels without bars are left out', () => {
  const bars = [{ label: 'a <b> & "c"', estimate: estimate(1), ours: false }];
  const svg = svgChart(
    [
      { title: 'empty', digits: 0, bars: [] },
      { title: 'full', digits: 0, bars },
    ],
    'x < y',
  );
  assert.ok(svg.includes('a &lt;b&gt; &amp; &quot;c&quot;'));
  assert.ok(svg.includes('x &lt; y'));
  assert.ok(!svg.includes('empty'));
});

test('whiskers span the interval', () => {
  const bars = [{ label: 'a', estimate: estimate(50, 25, 100), ours: false }];
  const svg = svgChart([{ title: 't', digits: 0, bars }], '');
  const [, x1, x2] = /class="whisker" x1="([\d.]+)" x2="([\d.]+)"/.exec(svg) ?? [];
  const width = Number(/<rect class="bar"[^>]* width="([\d.]+)"/.exec(svg)?.[1]);
  assert.ok(Math.abs(Number(x2) - Number(x1) - 1.5 * width) < 0.3);
});
