// The end-to-end tests give the gateway's account on a hub no right that the chart does not give: with one more, a
// right that the chart lacks would be missed.
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import { parseAllDocuments } from 'yaml';
import { workAccess } from '../e2e/distribute/works-site.ts';
import { importAccess } from '../e2e/import/import-site.ts';
import { joinAccess } from '../e2e/join/join-site.ts';
import { tenantAccess } from '../e2e/tenants/tenants-site.ts';
import { gatewayAccess } from '../hub/objects.ts';

interface Rule {
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}

interface RoleObject {
  readonly kind: string;
  readonly rules?: readonly Rule[];
}

/** What the chart calls the roles of people, which are bound to nobody. */
const ofPeople = /^portcullis-(?:viewer|user)$/;

/**
 * Each right as one text: where, type, verb, and whether it is for some names only. Names of leases and namespaces are
 * each test's own.
 */
function rightsOf(objects: readonly object[]): ReadonlySet<string> {
  const roles = (objects as readonly (RoleObject & { metadata?: { name: string } })[]).filter(
    ({ kind, metadata }) => /^(?:Cluster)?Role$/.test(kind) && !ofPeople.test(metadata!.name),
  );
  return new Set(
    roles.flatMap(({ kind, rules = [] }) =>
      rules.flatMap(({ apiGroups = [], resources = [], verbs, resourceNames }) =>
        apiGroups.flatMap((group) =>
          resources.flatMap((resource) =>
            verbs.map((verb) => [kind, `${resource}.${group}`, verb, ...(resourceNames ? ['named'] : [])].join(' ')),
          ),
        ),
      ),
    ),
  );
}

function golden(name: string): readonly object[] {
  const text = readFileSync(join(import.meta.dirname, 'goldens', `${name}.yaml`), 'utf8');
  return parseAllDocuments(text).flatMap((document) => (document.toJS() as object | null) ?? []);
}

const goldens = globSync(join(import.meta.dirname, 'goldens/*.yaml')).map((file) => basename(file, '.yaml'));

/** The rights of a test that the chart does not give, neither as they are nor wider. */
function missing(wanted: readonly object[], ...names: readonly string[]): readonly string[] {
  const given = rightsOf(names.flatMap(golden));
  return [...rightsOf(wanted)].filter((right) => {
    const wider = [right, right.replace(/ named$/, '')].flatMap((each) => [
      each,
      each.replace(/^Role /, 'ClusterRole '),
    ]);
    return !wider.some((each) => given.has(each));
  });
}

test('tests of works, imports, joins and tenants give the account on the hub what the chart gives it', () => {
  assert.deepEqual(missing(workAccess(), '9-works'), []);
  assert.deepEqual(missing(importAccess([]), '9-import-policies'), []);
  assert.deepEqual(missing(joinAccess(), '9-joins'), []);
  assert.deepEqual(missing(tenantAccess(), '9-tenants'), []);
});

test('every test on a hub gives its account what the chart gives it for the sources it reads', () => {
  assert.deepEqual(missing(gatewayAccess(), ...goldens), []);
});

test('a right that the chart does not give is noticed', () => {
  const rules = [{ apiGroups: [''], resources: ['nodes'], verbs: ['list'] }];
  const extra = { kind: 'ClusterRole', metadata: { name: 'x' }, rules };
  assert.deepEqual(missing([...workAccess(), extra], '9-works'), ['ClusterRole nodes. list']);
});
