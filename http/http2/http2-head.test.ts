import assert from 'node:assert/strict';
import { test } from 'node:test';

import { isRepeated } from '../repeated-headers.ts';
import { readHttp2Request } from './http2-head.ts';
import { RepeatedLists } from './repeated-lists.ts';

const pseudo = [':method', 'GET', ':scheme', 'https', ':authority', 'x', ':path'];
const request = (path: string, ...headers: string[]): string[] => [...pseudo, path, ...headers];

test('the one Audit-ID stands beside the headers, two of them are none', () => {
  const one = readHttp2Request(request('/a', 'accept', '*/*', 'audit-id', 'id-1'), true)!;
  assert.deepEqual([one.auditId, one.headers], ['id-1', ['accept', '*/*']]);
  const two = readHttp2Request(request('/a', 'audit-id', 'id-1', 'audit-id', 'id-2'), true)!;
  assert.deepEqual([two.auditId, two.headers], [undefined, []]);
  assert.equal(readHttp2Request(request('/a'), true)!.auditId, undefined);
});

test('requests that differ in path and Audit-ID alone have one list, another caller has another', () => {
  const lists = new RepeatedLists();
  const read = (path: string, caller: string, id: string) =>
    readHttp2Request(request(path, 'x-remote-user', caller, 'audit-id', id), true, lists)!;
  const first = read('/a', 'ada', '1');
  const bob = read('/a', 'bob', '2');
  const again = read('/b', 'ada', '3');
  assert.equal(again.headers, first.headers);
  assert.ok(isRepeated(again.headers));
  assert.deepEqual([again.target, again.auditId], ['/b', '3']);
  assert.deepEqual(bob.headers, ['x-remote-user', 'bob']);
  assert.equal(read('/c', 'bob', '4').headers, bob.headers);
});
