import { textAt } from '../../lib/objects/json-object.ts';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accessObjects } from './access-objects.ts';
import { timesOf } from './token.ts';

const settings = {
  memberNamespace: 'portcullis-system',
  ownsNamespace: true,
  impersonate: { users: undefined, groups: undefined, extras: ['a.example'] },
  index: true,
  executeWorks: true,
  labels: {},
  annotations: {},
};

const titles = (given: object = {}): string[] =>
  accessObjects({ ...settings, ...given }).map((each) => `${textAt(each, 'kind')} ${textAt(each, 'metadata', 'name')}`);

test('the right to remove the objects of a join is made before all of them, and names each of them', () => {
  const all = titles();
  assert.deepEqual(all.slice(0, 2), ['Namespace portcullis-system', 'ServiceAccount portcullis-gateway']);
  const [first] = all.filter((each) => each.startsWith('ClusterRole '));
  assert.equal(first, 'ClusterRole portcullis:leave');
  const leave = accessObjects(settings).find((each) => textAt(each, 'metadata', 'name') === 'portcullis:leave');
  const removable = JSON.stringify(leave);
  for (const each of all.filter((title) => title.startsWith('ClusterRole')))
    assert.ok(removable.includes(`"${each.split(' ')[1]!}"`), each);
});

test('no right of a join has a wildcard, and limits of impersonation are kept', () => {
  const impersonate = { users: ['alice'], groups: ['team-a'], extras: [] };
  assert.doesNotMatch(JSON.stringify(accessObjects(settings)), /"\*"/);
  const limited = accessObjects({ ...settings, impersonate }).find(
    (each) => textAt(each, 'metadata', 'name') === 'portcullis:impersonator' && textAt(each, 'kind') === 'ClusterRole',
  );
  const users = (limited!['rules'] as { resources: string[]; resourceNames?: string[] }[]).filter(({ resources }) =>
    resources.includes('users'),
  );
  assert.deepEqual(
    users.map(({ resourceNames }) => resourceNames),
    [['alice', 'portcullis:probe', 'portcullis:index']],
  );
});

test('a limit that names nobody lets nobody be impersonated, where RBAC would read an empty list as everybody (ATT-57)', () => {
  const rulesOf = (impersonate: object): object[] => {
    const given = { ...settings, index: false, impersonate: { ...settings.impersonate, ...impersonate } };
    const role = accessObjects(given).find((each) => textAt(each, 'metadata', 'name') === 'portcullis:impersonator');
    return role!['rules'] as object[];
  };
  const core = (resources: string[], ...resourceNames: string[]): object => ({
    apiGroups: [''],
    resources,
    ...(resourceNames.length > 0 && { resourceNames }),
    verbs: ['impersonate'],
  });
  const extras = {
    apiGroups: ['authentication.k8s.io'],
    resources: ['uids', 'userextras/a.example'],
    verbs: ['impersonate'],
  };
  const cases: readonly (readonly [object, readonly object[]])[] = [
    [{}, [core(['groups', 'serviceaccounts', 'users'])]],
    [{ groups: [] }, [core(['serviceaccounts', 'users'])]],
    [{ users: ['alice'], groups: [] }, [core(['users'], 'alice', 'portcullis:probe')]],
    [{ users: [], groups: ['a'] }, [core(['users'], 'portcullis:probe'), core(['groups'], 'a')]],
    [{ users: [], groups: [] }, [core(['users'], 'portcullis:probe')]],
  ];
  for (const [given, rules] of cases) assert.deepEqual(rulesOf(given), [...rules, extras], JSON.stringify(given));
  for (const [, rules] of cases.slice(1)) {
    for (const rule of rules) assert.notDeepEqual((rule as { resourceNames?: string[] }).resourceNames, []);
  }
});

test('a namespace that was there before is neither made nor removed, and another namespace gives other names', () => {
  assert.equal(titles({ ownsNamespace: false }).includes('Namespace portcullis-system'), false);
  assert.ok(titles({ memberNamespace: 'second' }).includes('ClusterRole portcullis:leave:second'));
});

test('a token is replaced when 75 to 80 percent of its granted life are over', () => {
  const at = (random: number): number => Date.parse(timesOf(0, 3_600_000, 1, () => random).rotateAt);
  assert.equal(at(0), 2_880_000);
  assert.equal(at(1), 2_700_000);
});
