import assert from 'node:assert/strict';
import { test } from 'node:test';
import { judge } from './rights.ts';

const exec = { verb: 'create', group: '', resource: 'pods/exec' };

test('a rule for another verb, group or resource allows nothing', () => {
  for (const rule of [
    { verbs: ['get'], apiGroups: [''], resources: ['pods/exec'] },
    { verbs: ['create'], apiGroups: ['apps'], resources: ['pods/exec'] },
    { verbs: ['create'], apiGroups: [''], resources: ['pods'] },
    { verbs: ['create'], apiGroups: [''], resources: ['services/*', '*/log'] },
    { verbs: ['create'] },
  ])
    assert.equal(judge([rule], exec), 'no', JSON.stringify(rule));
});

test('stars count as in RBAC, and rules for names allow some', () => {
  for (const resource of ['*', '*/exec', 'pods/exec'])
    assert.equal(judge([{ verbs: ['*'], apiGroups: ['*'], resources: [resource] }], exec), 'yes', resource);
  const named = { verbs: ['create'], apiGroups: [''], resources: ['pods/exec'], resourceNames: ['a'] };
  assert.equal(judge([named], exec), 'some');
  assert.equal(judge([named, { ...named, resourceNames: [] }], exec), 'yes');
});
