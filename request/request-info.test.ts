import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseTarget } from './path.ts';
import { isLongRunning, queryValue, requestInfo, unescapeQuery } from './request-info.ts';

function describe(method: string, target: string, upgrade = false): string {
  const parsed = parseTarget(target);
  const info = requestInfo(method, parsed.segments, parsed.query, upgrade);
  if (!info.isResource) return `${info.verb} -`;
  return [info.verb, info.apiGroup, info.apiVersion, info.namespace, info.resource, info.subresource, info.name].join(
    ' ',
  );
}

// Cases of kubernetes/apiserver pkg/endpoints/request/requestinfo_test.go, and those a gateway gets wrong.
const cases: readonly (readonly [method: string, target: string, expected: string])[] = [
  ['GET', '/api/v1/namespaces', 'list  v1  namespaces  '],
  ['GET', '/api/v1/namespaces/other', 'get  v1 other namespaces  other'],
  ['GET', '/api/v1/namespaces/other/pods', 'list  v1 other pods  '],
  ['GET', '/api/v1/namespaces/other/pods/foo', 'get  v1 other pods  foo'],
  ['HEAD', '/api/v1/namespaces/other/pods/foo', 'get  v1 other pods  foo'],
  ['GET', '/api/v1/pods', 'list  v1  pods  '],
  ['HEAD', '/api/v1/pods', 'list  v1  pods  '],
  ['GET', '/api/v1/pods?watch=true', 'watch  v1  pods  '],
  ['GET', '/api/v1/pods?watch=1', 'watch  v1  pods  '],
  ['GET', '/api/v1/pods?watch', 'watch  v1  pods  '],
  ['GET', '/api/v1/pods?w%61tch=true', 'watch  v1  pods  '],
  ['GET', '/api/v1/pods?watch=false', 'list  v1  pods  '],
  ['GET', '/api/v1/pods?watch=0', 'list  v1  pods  '],
  ['GET', '/api/v1/pods?a;watch=true', 'list  v1  pods  '],
  ['GET', '/api/v1/pods?watch=FALSE', 'list  v1  pods  '],
  ['GET', '/api/v1/watch/pods', 'watch  v1  pods  '],
  ['GET', '/api/v1/watch/namespaces/other/pods', 'watch  v1 other pods  '],
  ['GET', '/api/v1/proxy/namespaces/other/pods/foo', 'proxy  v1 other pods  foo'],
  ['GET', '/api/v1/namespaces/other/pods/foo/status', 'get  v1 other pods status foo'],
  ['PUT', '/api/v1/namespaces/other/finalize', 'update  v1 other namespaces finalize other'],
  ['PUT', '/api/v1/namespaces/other/status', 'update  v1 other namespaces status other'],
  ['GET', '/apis/extensions/v1/namespaces/other/pods', 'list extensions v1 other pods  '],
  ['POST', '/apis/extensions/v1/namespaces/other/pods', 'create extensions v1 other pods  '],
  ['DELETE', '/api/v1/namespaces/other/pods', 'deletecollection  v1 other pods  '],
  ['DELETE', '/api/v1/namespaces/other/pods/foo', 'delete  v1 other pods  foo'],
  ['PATCH', '/api/v1/namespaces/other/pods/foo', 'patch  v1 other pods  foo'],
  ['GET', '/api/v1/namespaces/other/pods?fieldSelector=metadata.name%3Dfoo', 'list  v1 other pods  foo'],
  ['GET', '/api/v1/pods?watch=true&fieldSelector=metadata.name=foo', 'watch  v1  pods  foo'],
  ['GET', '/api/v1/namespaces/other/pods/foo/log?follow=true', 'get  v1 other pods log foo'],
  ['GET', '/api/v1/nodes/n1/proxy/stats', 'get  v1  nodes proxy n1'],
  ['GET', '/api', 'get -'],
  ['GET', '/api/v1', 'get -'],
  ['GET', '/apis/apps/v1', 'get -'],
  ['POST', '/metrics', 'post -'],
  ['TRACE', '/api/v1/pods', '  v1  pods  '],
];

for (const [method, target, expected] of cases) {
  test(`${method} ${target} is "${expected}"`, () => assert.equal(describe(method, target), expected));
}

test('an upgrade is create, whatever its method (ATT-28)', () => {
  assert.equal(describe('GET', '/api/v1/namespaces/n/pods/p/exec?command=sh', true), 'create  v1 n pods exec p');
  assert.equal(describe('POST', '/api/v1/namespaces/n/pods/p/exec', true), 'create  v1 n pods exec p');
  assert.equal(describe('GET', '/api/v1/nodes/n1/proxy/exec/n/p/c', true), 'create  v1  nodes proxy n1');
});

test('any other upgrade has the verb of the request without it (ATT-42)', () => {
  for (const [method, target, expected] of [
    ...cases,
    ['GET', '/api/v1/namespaces/n/services/s/proxy/', 'get  v1 n services proxy s'],
    ['POST', '/api/v1/namespaces/n/pods/p/proxy/', 'create  v1 n pods proxy p'],
  ] as const) {
    if (target.includes('/nodes/n1/proxy')) continue;
    assert.equal(describe(method, target, true), expected, `${method} ${target}`);
  }
});

test('watches, logs, exec and proxies run without a deadline; a list does not', () => {
  const long = (target: string): boolean => {
    const { segments, query } = parseTarget(target);
    return isLongRunning(requestInfo('GET', segments, query, false));
  };
  assert.ok(long('/api/v1/pods?watch=1'));
  assert.ok(long('/api/v1/namespaces/n/pods/p/log'));
  assert.ok(long('/api/v1/namespaces/n/services/s/proxy/'));
  assert.ok(!long('/api/v1/pods'));
  assert.ok(!long('/api/v1/namespaces/n/pods/p'));
});

test('a parameter is found in whatever spelling its name came, and only then, for random queries', () => {
  const parts = [
    'watch',
    'w',
    '%77',
    '%57',
    'atch',
    '%61tch',
    '=',
    '=1',
    '&',
    '&',
    ';',
    '%',
    '%6',
    '%3d',
    '+',
    '%2B',
    ' ',
    '%ff',
    'é',
    '?',
  ];
  /** What url.ParseQuery and Get do, in their own order. */
  const plainly = (query: string, key: string): string | undefined => {
    for (const pair of query.replace(/^\?/, '').split('&')) {
      if (pair === '' || pair.includes(';')) continue;
      const [name = '', ...rest] = pair.split('=');
      const value = unescapeQuery(rest.join('='));
      if (unescapeQuery(name) === key && value !== undefined) return value;
    }
    return undefined;
  };
  let state = 7;
  const next = (below: number): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fff_ffff;
    return (state >>> 8) % below;
  };
  let found = 0;
  for (let round = 0; round < 20_000; round++) {
    const query =
      (next(2) === 0 ? '?' : '') + Array.from({ length: next(12) }, () => parts[next(parts.length)]!).join('');
    const expected = plainly(query, 'watch');
    if (expected !== undefined) found += 1;
    assert.equal(queryValue(query, 'watch'), expected, JSON.stringify(query));
  }
  assert.ok(found > 300, String(found));
});

test('a query value is unescaped as the pattern of its escapes says, byte for byte', () => {
  const byPattern = (text: string): string | undefined => {
    if (/%(?![0-9A-Fa-f]{2})/.test(text)) return undefined;
    const bytes = text
      .replaceAll('+', ' ')
      .replace(/%(..)/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
    return Buffer.from(bytes, 'latin1').toString('utf8');
  };
  for (let byte = 0; byte < 256; byte++) {
    const hex = byte.toString(16).padStart(2, '0');
    for (const text of [
      `a%${hex}+b`,
      `%${hex.toUpperCase()}`,
      `%c3%${hex}`,
      `%${hex}%`,
      `+%${hex.slice(1)}`,
      `%+${hex}`,
    ])
      assert.equal(unescapeQuery(text), byPattern(text), text);
  }
});
