import assert from 'node:assert/strict';
import { test } from 'node:test';
import { matchesLabels, matchesSelectorObject, parseFieldSelector, parseLabelSelector } from './selectors.ts';
import type { KubeObject } from '../model/types.ts';

const labels = { app: 'web', tier: 'front', 'example.com/n': '5', empty: '' };
const holds = (selector: string): boolean => matchesLabels(parseLabelSelector(selector), labels);

for (const selector of [
  '',
  'app=web',
  'app==web',
  'app',
  '!missing',
  'app!=db',
  'missing!=x',
  'app in (web, db)',
  'missing notin (a)',
  'app notin (db),tier=front',
  'example.com/n',
  'example.com/n>4',
  'example.com/n<6',
  'empty=',
  ' app = web , tier in (front) ',
])
  test(`label selector "${selector}" matches`, () => assert.equal(holds(selector), true));

for (const selector of [
  'app=db',
  '!app',
  'missing',
  'app!=web',
  'app in (db)',
  'app notin (web)',
  'example.com/n>5',
  'app=web,tier=back',
  'app=',
])
  test(`label selector "${selector}" does not match`, () => assert.equal(holds(selector), false));

for (const selector of ['a b', 'a=b=c', 'a in b', '=x', 'a in (b', 'a=*'])
  test(`label selector "${selector}" is refused`, () => {
    assert.throws(() => parseLabelSelector(selector), { code: 400 });
  });

test('an absent selector object matches nothing, an empty one everything', () => {
  assert.equal(matchesSelectorObject(undefined, labels), false);
  assert.equal(matchesSelectorObject({}, labels), true);
  const selector = {
    matchLabels: { app: 'web' },
    matchExpressions: [{ key: 'tier', operator: 'NotIn', values: ['back'] }],
  };
  assert.equal(matchesSelectorObject(selector, labels), true);
  assert.equal(matchesSelectorObject(selector, { app: 'web', tier: 'back' }), false);
});

const pod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p', namespace: 'n' },
  spec: { nodeName: 'node-1' },
  status: { phase: 'Running' },
} as unknown as KubeObject;

test('field selectors know the fields of the resource', () => {
  const selects = (selector: string): boolean => parseFieldSelector(selector, '/pods')(pod);
  assert.equal(selects('spec.nodeName=node-1,status.phase!=Failed,metadata.namespace=n'), true);
  assert.equal(selects('status.phase!=Running'), false);
  assert.equal(selects('metadata.name==q'), false);
  assert.throws(() => selects('spec.image=x'), { code: 400, message: 'field label not supported: spec.image' });
  assert.throws(() => selects('nonsense'), { code: 400 });
});
