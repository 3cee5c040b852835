import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pinnedName } from './field-selector.ts';

function pinned(options: Readonly<Record<string, string>>): string | undefined {
  return pinnedName((key) => options[key]);
}

test('a selector that pins one name gives it', () => {
  for (const fieldSelector of [
    'metadata.name=a',
    'metadata.name==a',
    ',metadata.name=a,',
    'status.phase!=x,metadata.name=a',
  ])
    assert.equal(pinned({ fieldSelector }), 'a', fieldSelector);
  assert.equal(
    pinned({ fieldSelector: 'metadata.name=a', limit: '500', timeoutSeconds: '-1', labelSelector: 'a=b,c!=' }),
    'a',
  );
});

// Every one of these was found by comparing with k8s.io/apiserver's RequestInfoFactory, which pins nothing or another
// name.
test('a selector that kube-apiserver reads in another way pins nothing', () => {
  for (const fieldSelector of [
    ' metadata.name=a',
    'metadata.name =a',
    'metadata.name!=a',
    'metadata.name=a,x',
    '=b=c,metadata.name=a',
    'metadata.name=b,metadata.name=a',
    'metadata.name=a=b',
    'metadata.name===a',
    'metadata.name=a\\,b',
    'metadata.name=..',
    'metadata.name=a/b',
    'metadata.name=',
    'metadata.name=\ufffd',
  ])
    assert.equal(pinned({ fieldSelector }), undefined, fieldSelector);
});

test('a query of which another option cannot be decoded pins nothing', () => {
  const broken: readonly Readonly<Record<string, string>>[] = [
    { limit: 'x' },
    { limit: '' },
    { limit: '99999999999999999999' },
    { timeoutSeconds: '1s' },
    { labelSelector: '(' },
    { labelSelector: 'a=b,' },
  ];
  for (const options of broken)
    assert.equal(pinned({ fieldSelector: 'metadata.name=a', ...options }), undefined, JSON.stringify(options));
});
