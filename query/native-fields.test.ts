import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FieldRequirement } from './list-query.ts';
import { nativeConditions } from './native-fields.ts';
import { parsePath, printPath } from './path.ts';

const events = { group: '', version: 'v1', resource: 'events' } as const;

/** Whether an object with these fields meets a condition, where a missing field differs from every value. */
function meets(fields: Readonly<Record<string, string | undefined>>, { path, operator, values }: FieldRequirement) {
  const value = fields[printPath(path)];
  if (operator === 'Exists') return value !== undefined;
  if (operator === 'DoesNotExist') return value === undefined;
  const isIn = value !== undefined && values.includes(value);
  return operator === 'NotEquals' ? !isIn : isIn;
}

test('the source of an event is its component, and the reporting component only of an event without one', () => {
  for (const operator of ['Equals', 'NotEquals'] as const)
    for (const wanted of ['', 'kubelet'])
      for (const component of [undefined, 'kubelet', 'scheduler'])
        for (const reportingComponent of [undefined, 'kubelet', 'scheduler']) {
          const requirement = { path: parsePath('source'), operator, values: [wanted] };
          const { fields, anyOf } = nativeConditions([events], [requirement]);
          const object = { 'source.component': component, reportingComponent };
          const found =
            fields.every((each) => meets(object, each)) &&
            anyOf.every((clause) => clause.some((each) => meets(object, each)));
          // pkg/registry/core/event/strategy.go, ToSelectableFields
          const source = component ?? reportingComponent ?? '';
          const what = `source${operator} "${wanted}" of ${JSON.stringify(object)}`;
          assert.equal(found, (source === wanted) === (operator === 'Equals'), what);
        }
});
