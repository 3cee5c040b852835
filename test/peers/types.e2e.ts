// The four types that Clusterpedia installs and those that the gateway prints, field by field: schemas, columns,
// subresources, names and scope. The folder that PORTCULLIS_CLUSTERPEDIA names has Clusterpedia's files in `crds`.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';
import { clusterpediaDefinitions } from '../../import/definitions/clusterpedia.ts';
import { definitionFields } from '../../import/definitions/definition-fields.fixture.ts';
import type { CustomResourceDefinition } from '../../import/definitions/schema.ts';
import { folderVariable, missingPrograms } from './clusterpedia.fixture.ts';

const missing = missingPrograms();
const needsClusterpedia = { skip: missing ?? false };

const folder = path.join(process.env[folderVariable] ?? '', 'crds');
const theirs = (missing === undefined ? readdirSync(folder) : [])
  .map((file) => parse(readFileSync(path.join(folder, file), 'utf8')) as CustomResourceDefinition)
  .filter(({ kind }) => kind === 'CustomResourceDefinition');

test('the types have the names that Clusterpedia’s have', needsClusterpedia, () => {
  const names = (definitions: readonly CustomResourceDefinition[]): readonly string[] =>
    definitions.map(({ metadata }) => metadata.name).toSorted();
  assert.deepEqual(names(clusterpediaDefinitions), names(theirs));
});

for (const ours of clusterpediaDefinitions) {
  const { name } = ours.metadata;
  test(
    `every field, column and subresource of ${name} is Clusterpedia’s, and none is missing`,
    needsClusterpedia,
    () => {
      const other = theirs.find(({ metadata }) => metadata.name === name);
      assert.ok(other, `${folder} has no ${name}`);
      assert.deepEqual(
        new Map([...definitionFields(ours)].toSorted()),
        new Map([...definitionFields(other)].toSorted()),
      );
    },
  );
}
