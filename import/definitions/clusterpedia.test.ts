import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { clusterpediaDefinitions } from './clusterpedia.ts';
import { definitionFields } from './definition-fields.fixture.ts';

/**
 * SHA-256 of each type's fields, sorted, as they were when test/peers/types.e2e.ts last found them equal to those that
 * Clusterpedia installs (its main branch of April 2026). After a wanted change, run that test first.
 */
const compared: Readonly<Record<string, string>> = {
  'clusterimportpolicies.policy.clusterpedia.io': '8a5acb560d989f0b5eebebb0c70d3e0bd5da372bb1eba7c50df9c85e13d32b1c',
  'clustersyncresources.cluster.clusterpedia.io': '07a2a319f4230f70ebf2f5d799822d628cf0be9b19cc7447ecba62a6ce840bdc',
  'pediaclusterlifecycles.policy.clusterpedia.io': 'dc335e77819c22efc7989bc04388321e45c759239b4a91c5327626b9cfa9e4b5',
  'pediaclusters.cluster.clusterpedia.io': 'edfe99e19fbf069f255a874fbd0036a95151c52b279d58986911c5c626721aa5',
};

test('the four types are the ones that were compared with Clusterpedia’s, field by field', () => {
  const digests = clusterpediaDefinitions.map((definition) => {
    const lines = [...definitionFields(definition)].map(([path, value]) => `${path} ${value}\n`).toSorted();
    return [definition.metadata.name, createHash('sha256').update(lines.join('')).digest('hex')];
  });
  assert.deepEqual(Object.fromEntries(digests), compared);
});

test('a field that is missing, added or of another type is told', () => {
  const made = (properties: object): ReadonlyMap<string, string> =>
    definitionFields({ spec: { schema: { description: 'words', properties } } });
  const text = made({ a: { type: 'string', description: 'other words' }, description: { type: 'string' } });
  assert.deepEqual(
    [...text],
    [
      ['.schema.properties.a.type', '"string"'],
      ['.schema.properties.description.type', '"string"'],
    ],
  );
  assert.notDeepEqual(made({ a: { type: 'string' } }), text);
  assert.notDeepEqual(made({ a: { type: 'boolean' }, description: { type: 'string' } }), text);
});
