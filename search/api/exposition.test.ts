import assert from 'node:assert/strict';
import { test } from 'node:test';
import { expositionFormat, Gauge } from './exposition.ts';

test('a scraper reads any label value as it is', () => {
  const gauge = new Gauge('things', 'Things.');
  gauge.add({ name: 'a"b\\c\nd', place: '' }, 0);
  gauge.add({ name: 'x', place: 'y' }, 7);
  assert.equal(
    gauge.text(),
    '# HELP things Things.\n# TYPE things gauge\nthings{name="a\\"b\\\\c\\nd",place=""} 0\nthings{name="x",place="y"} 7\n',
  );
});

test('OpenMetrics is written for who names it, and text for everybody else', () => {
  const typeOf = (accept: string | undefined): string =>
    expositionFormat(accept === undefined ? [] : ['Accept', accept]).contentType.split(';')[0]!;
  assert.equal(typeOf('application/openmetrics-text;version=1.0.0;q=0.5,*/*;q=0.1'), 'application/openmetrics-text');
  assert.equal(typeOf('text/plain, application/openmetrics-text'), 'application/openmetrics-text');
  assert.equal(typeOf(undefined), 'text/plain');
  for (const accept of ['*/*', 'text/plain;version=0.0.4', 'application/openmetrics-text-of-mine'])
    assert.equal(typeOf(accept), 'text/plain', accept);
});
