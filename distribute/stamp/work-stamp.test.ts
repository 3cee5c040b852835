import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { parseAllDocuments } from 'yaml';
import type { ApiObject } from '../../kube/types.ts';
import { fieldOf } from '../../lib/objects/json-object.ts';
import { workChanges, workStamp } from './work-stamp.ts';

function installed(name: string): readonly ApiObject[] {
  const file = path.join(import.meta.dirname, '../../charts/portcullis/files', `${name}.yaml`);
  return parseAllDocuments(readFileSync(file, 'utf8')).map((document) => document.toJS() as ApiObject);
}

test('the policies that the chart installs are those that the gateway believes', () => {
  const objects = installed('works-last-modifier');
  assert.deepEqual(objects, [...workStamp.mutation, ...workStamp.validation]);
  assert.equal(workStamp.fault(objects[2], objects[3]), undefined);
  assert.match(workStamp.fault(undefined, objects[3]) ?? '', /no ValidatingAdmissionPolicy portcullis-last-modifier/);
});

test('whatever makes somebody the last modifier of a work is asked about when it is changed', () => {
  const [policy] = installed('works-execute-as');
  const condition = String(fieldOf(policy, 'spec', 'matchConditions', '0', 'expression'));
  assert.ok(condition.endsWith(` || ${workChanges}`), condition);
});
