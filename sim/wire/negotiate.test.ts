import assert from 'node:assert/strict';
import { test } from 'node:test';
import { negotiate } from './negotiate.ts';

/** Accept header → format and shape, or the code of the refusal. */
const cases: readonly (readonly [string | undefined, string])[] = [
  [undefined, 'json object'],
  ['', 'json object'],
  ['*/*', 'json object'],
  ['application/*', 'json object'],
  ['application/json, */*', 'json object'],
  ['application/yaml', 'yaml object'],
  ['application/vnd.kubernetes.protobuf,application/json', 'json object'],
  ['application/vnd.kubernetes.protobuf', '406'],
  ['text/html', '406'],
  ['application/json;as=Table;v=v1;g=meta.k8s.io,application/json', 'json table'],
  ['application/json; as=Table; v=v1; g=meta.k8s.io', 'json table'],
  ['application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json', 'json object'],
  ['application/json;as=Table;v=v1beta1;g=meta.k8s.io', '406'],
  ['application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io', 'json partial'],
  [
    'application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1',
    'json partial',
  ],
  ['application/json;q=0.5', 'json object'],
];
for (const [accept, expected] of cases)
  test(`Accept ${accept} is ${expected}`, () => {
    if (expected === '406') assert.throws(() => negotiate(accept), { code: 406 });
    else assert.equal(`${negotiate(accept).format} ${negotiate(accept).shape}`, expected);
  });
