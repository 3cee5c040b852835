import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { WhatCanQuestion, WhoCanQuestion } from '../../api/question.ts';
import type { IndexRequest } from '../../request/request.ts';
import { readWhatCan, readWhoCan } from './read-access.ts';

const requestOf = (query: string): IndexRequest => ({ query, form: () => '' }) as unknown as IndexRequest;

const readers: readonly (readonly [string, (selector: string) => WhoCanQuestion | WhatCanQuestion])[] = [
  ['who may do something', (selector) => readWhoCan(requestOf(`?verb=get&resource=pods${selector}`))],
  ['what somebody may do', (selector) => readWhatCan(requestOf(`?user=jane${selector}`))],
];

for (const [what, read] of readers) {
  test(`a request for ${what} takes a selector of clusters, which is read as kube-apiserver reads one`, () => {
    const { clusterSelector } = read('&clusterSelector=env%20in%20(prod,stage),!old');
    assert.ok(clusterSelector !== undefined);
    assert.deepEqual(
      ([{ env: 'prod' }, { env: 'dev' }, { env: 'prod', old: '' }, {}] as const).map((labels) =>
        clusterSelector(labels),
      ),
      [true, false, false, false],
    );
    for (const none of ['', '&clusterSelector=', '&clusterSelector'])
      assert.equal(read(none).clusterSelector, undefined);
  });

  test(`a request for ${what} is refused when its selector of clusters cannot be read, or is not the only one`, () => {
    for (const selector of ['env in', 'a b', '=prod', 'env=prod&clusterSelector=', 'env=prod&clusterSelector=env'])
      assert.throws(() => read(`&clusterSelector=${selector}`), { code: 'BAD_REQUEST' }, selector);
    assert.throws(() => read('&clusterSelector=%ff'), { code: 'BAD_REQUEST' });
    assert.throws(() => read('&clusterselector=env'), /there is no parameter "clusterselector"/);
  });
}
