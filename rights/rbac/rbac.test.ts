import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRandom } from '../../bench/figures/statistics.ts';
import { memberView } from '../../auth/rules/impersonation.ts';
import { makeUser } from '../../model/user.ts';
import { grantAllows, isCut, mostNames } from '../../query/scope/grants.ts';
import { readBinding, readRules, ruleAllows, reachOfRules, subjectKeysOf } from './rbac.ts';
import { makeRbacView } from './rbac-view.ts';
import type { RbacFeed, RbacKind, RowVerb } from './rbac-view.ts';
import { binding, role, rule, testUser } from '../rights.fixture.ts';
import type { TestObject } from '../rights.fixture.ts';

const kinds: Readonly<Record<string, RbacKind>> = {
  Role: 'roles',
  RoleBinding: 'rolebindings',
  ClusterRole: 'clusterroles',
  ClusterRoleBinding: 'clusterrolebindings',
  Namespace: 'namespaces',
};

function viewOf(...objects: readonly TestObject[]): RbacFeed {
  let generation = 0;
  const view = makeRbacView(() => ++generation);
  for (const object of objects) put(view, object);
  return view;
}

function put(view: RbacFeed, object: TestObject, gone = false): void {
  const { name, namespace = '' } = object.metadata;
  view.put(kinds[object.kind]!, namespace, name, gone ? undefined : object);
}

const pods = { group: '', resource: 'pods', namespaced: true };
const nodes = { group: '', resource: 'nodes', namespaced: false };
const namespaces = { group: '', resource: 'namespaces', namespaced: false };
const jane = testUser('jane', 'dev');

test('stars, subresources and groups of a rule are matched as kube-apiserver matches them', () => {
  const [all, log, anyLog, pod] = readRules({
    rules: [
      { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
      { verbs: ['get'], apiGroups: [''], resources: ['pods/log'] },
      { verbs: ['get'], apiGroups: [''], resources: ['*/log'] },
      { verbs: ['get'], apiGroups: [''], resources: ['pods'] },
    ],
  });
  const question = { verb: 'get', group: '', resource: 'pods', subresource: '', name: 'a' };
  const logQuestion = { ...question, subresource: 'log' };
  assert.ok(ruleAllows(all!, question) && ruleAllows(all!, { ...logQuestion, group: 'apps', verb: 'invented' }));
  assert.ok(ruleAllows(log!, logQuestion) && !ruleAllows(log!, question));
  assert.ok(ruleAllows(anyLog!, logQuestion) && !ruleAllows(anyLog!, question));
  assert.ok(
    ruleAllows(pod!, question) && !ruleAllows(pod!, logQuestion) && !ruleAllows(pod!, { ...question, group: 'apps' }),
  );
});

test('a role with many names that is bound thousands of times in a namespace grants its names once (ATT-64)', () => {
  const names = Array.from({ length: mostNames }, (_, i) => `name-${i}`);
  const view = viewOf(role('many', 'shop', rule('list', 'pods', ...names)));
  for (let i = 0; i < 4_000; i += 1) put(view, binding(`b${i}`, 'shop', 'Role/many', 'Group/dev'));
  const grant = view.grant(jane, 'list', pods);
  assert.equal(grant === 'all' ? 0 : grant.names.length, names.length);
  assert.ok(grantAllows(grant, 'shop', 'name-7') && !grantAllows(grant, 'other', 'name-7'));
  // Nothing is remembered from one namespace to another, nor from one role to another.
  put(view, role('one', 'other', rule('list', 'pods', 'x')));
  put(view, binding('b', 'other', 'Role/one', 'User/jane'));
  assert.ok(grantAllows(view.grant(jane, 'list', pods), 'other', 'x'));
});

const manyNames = (count: number, from = 'name'): readonly string[] =>
  Array.from({ length: count }, (_, i) => `${from}-${i}`);

test('whoever names too many objects in a namespace takes single objects from that namespace only (ATT-67)', () => {
  const view = viewOf(
    role('hostile', 'tenant', rule('list', 'pods', ...manyNames(mostNames + 1))),
    binding('b', 'tenant', 'Role/hostile', 'Group/system:authenticated'),
    role('one', 'shop', rule('list', 'pods', 'x')),
    binding('b', 'shop', 'Role/one', 'User/jane'),
    role('whole', 'team', rule('list', 'pods')),
    binding('b', 'team', 'Role/whole', 'User/jane'),
    role('some', undefined, rule('list', 'pods', 'wide')),
    binding('b', undefined, 'ClusterRole/some', 'User/jane'),
  );
  const grant = view.grant(jane, 'list', pods);
  assert.ok(isCut(grant), 'the caller is told that something is missing');
  assert.deepEqual(grant, {
    namespaces: ['team'],
    names: [
      { namespace: undefined, name: 'wide' },
      { namespace: 'shop', name: 'x' },
    ],
    isCut: true,
  });
  assert.ok(!grantAllows(grant, 'tenant', 'name-1'));
  // Of all that they name together, those with the most go first.
  put(view, role('hostile', 'tenant', rule('list', 'pods', ...manyNames(mostNames - 1))));
  assert.deepEqual(view.grant(jane, 'list', pods), grant);
  put(view, role('hostile', 'tenant', rule('list', 'pods', ...manyNames(mostNames - 2))));
  const whole = view.grant(jane, 'list', pods);
  assert.ok(!isCut(whole) && grantAllows(whole, 'tenant', 'name-1'));
  // A right to everything of the namespace counts beside any number of names.
  put(view, role('hostile', 'tenant', rule('list', 'pods', ...manyNames(mostNames + 1)), rule('list', 'pods')));
  assert.deepEqual(view.grant(jane, 'list', pods) === 'all' || view.grant(jane, 'list', pods), {
    namespaces: ['team', 'tenant'],
    names: grant === 'all' ? [] : grant.names,
  });
});

test('thousands of namespaces that one may get are not too many names', () => {
  const all = manyNames(mostNames + 5, 'n');
  const view = viewOf(role('see', undefined, rule('get', 'namespaces')));
  for (const namespace of all) put(view, binding('b', namespace, 'ClusterRole/see', 'User/jane'));
  const grant = view.grant(jane, 'get', namespaces);
  assert.ok(!isCut(grant) && grant !== 'all' && grant.names.length === all.length);
});

test('a change of a role concerns those to whom it is bound now, and nobody else', () => {
  const view = viewOf();
  const concerned = (name: string): readonly string[] =>
    [...(view.put('roles', 'shop', name, role(name, 'shop')) ?? [])].toSorted();
  const of = (...names: readonly string[]): readonly string[] =>
    names.flatMap((name) => subjectKeysOf(testUser(name))[0]!);
  put(view, binding('one', 'shop', 'Role/a', 'User/jane', 'User/eve'));
  put(view, binding('two', 'shop', 'Role/a', 'User/bob'));
  put(view, binding('three', 'other', 'Role/a', 'User/dan'));
  assert.deepEqual(concerned('a'), of('bob', 'eve', 'jane'));
  put(view, binding('one', 'shop', 'Role/b', 'User/jane'));
  assert.deepEqual([concerned('a'), concerned('b')], [of('bob'), of('jane')]);
  view.put('rolebindings', 'shop', 'two', undefined);
  assert.deepEqual([concerned('a'), concerned('none')], [[], []]);
});

test('the empty resource name is the request without a name: it allows a list and no get', () => {
  const rules = readRules({ rules: [rule('list,get', 'pods', '')] });
  assert.equal(reachOfRules(rules, 'list', pods), 'all');
  assert.deepEqual(reachOfRules(rules, 'get', pods), new Set());
});

test('resourceNames that are no list of texts never come to mean every name', () => {
  for (const resourceNames of ['a', 7, {}, [7], ['a', null]]) {
    const rules = readRules({ rules: [{ verbs: ['list'], apiGroups: [''], resources: ['pods'], resourceNames }] });
    assert.notEqual(reachOfRules(rules, 'list', pods), 'all', JSON.stringify(resourceNames));
  }
});

test('a binding that kube-apiserver would never follow is not followed', () => {
  const subjects = [{ kind: 'User', name: 'jane' }];
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'x' };
  assert.ok(readBinding({ roleRef, subjects }, { namespace: '', name: 'b' }));
  assert.equal(
    readBinding({ roleRef: { ...roleRef, kind: 'Role' }, subjects }, { namespace: '', name: 'b' }),
    undefined,
  );
  assert.equal(
    readBinding({ roleRef: { ...roleRef, apiGroup: 'other' }, subjects }, { namespace: '', name: 'b' }),
    undefined,
  );
  assert.equal(
    readBinding({ roleRef, subjects: [{ kind: 'Robot', name: 'jane' }] }, { namespace: '', name: 'b' }),
    undefined,
  );
  // An account without a namespace has none in a ClusterRoleBinding.
  assert.equal(
    readBinding({ roleRef, subjects: [{ kind: 'ServiceAccount', name: 'a' }] }, { namespace: '', name: 'b' }),
    undefined,
  );
  const inTeam = readBinding(
    { roleRef, subjects: [{ kind: 'ServiceAccount', name: 'a' }] },
    { namespace: 'team', name: 'b' },
  );
  assert.deepEqual(inTeam?.subjects, ['u:system:serviceaccount:team:a']);
});

test('a RoleBinding to a ClusterRole allows in its namespace, a ClusterRoleBinding everywhere', () => {
  const view = viewOf(
    role('reader', undefined, rule('list', 'pods')),
    binding('b', 'team', 'ClusterRole/reader', 'User/jane'),
    binding('c', undefined, 'ClusterRole/reader', 'Group/ops'),
  );
  assert.deepEqual(view.grant(jane, 'list', pods), { namespaces: ['team'], names: [] });
  assert.deepEqual(view.grant(jane, 'get', pods), { namespaces: [], names: [] });
  assert.equal(view.grant(testUser('joe', 'ops'), 'list', pods), 'all');
  assert.deepEqual(view.grant(jane, 'list', nodes), { namespaces: [], names: [] });
});

test('resourceNames are kept with the namespace they are granted in', () => {
  const view = viewOf(
    role('named', undefined, rule('get,list', 'pods', 'b', 'a')),
    binding('b', 'team', 'ClusterRole/named', 'User/jane'),
    binding('c', undefined, 'ClusterRole/named', 'Group/ops'),
  );
  const inTeam = { namespaces: [], names: ['a', 'b'].map((name) => ({ namespace: 'team', name })) };
  assert.deepEqual(view.grant(jane, 'list', pods), inTeam);
  const everywhere = { namespaces: [], names: ['a', 'b'].map((name) => ({ namespace: undefined, name })) };
  assert.deepEqual(view.grant(testUser('jane', 'ops'), 'list', pods), everywhere);
});

test('a Namespace can be got by a right inside it, and listed only by a right over all', () => {
  const view = viewOf(
    role('ns', undefined, rule('get,list', 'namespaces')),
    binding('b', 'team', 'ClusterRole/ns', 'User/jane'),
  );
  assert.deepEqual(view.grant(jane, 'get', namespaces), {
    namespaces: [],
    names: [{ namespace: undefined, name: 'team' }],
  });
  assert.deepEqual(view.grant(jane, 'list', namespaces), { namespaces: [], names: [] });
});

test('a watch shows what may be both listed and watched', () => {
  const view = viewOf(
    role('lister', undefined, rule('list', 'pods')),
    role('watcher', undefined, rule('watch', 'pods')),
    binding('a', 'one', 'ClusterRole/lister', 'User/jane'),
    binding('b', 'one', 'ClusterRole/watcher', 'User/jane'),
    binding('c', 'two', 'ClusterRole/watcher', 'User/jane'),
  );
  assert.deepEqual(view.grant(jane, 'watch', pods), { namespaces: ['one'], names: [] });
});

test('system:masters sees everything, without any binding', () => {
  assert.equal(viewOf().grant(testUser('root', 'system:masters'), 'list', pods), 'all');
});

test('implied groups count as the member adds them: authenticated, and those of a ServiceAccount that is sent without any', () => {
  const view = viewOf(
    role('reader', undefined, rule('list', 'pods')),
    binding('a', 'one', 'ClusterRole/reader', 'Group/system:authenticated'),
    binding('b', 'two', 'ClusterRole/reader', 'Group/system:serviceaccounts:team'),
    binding('c', 'three', 'ClusterRole/reader', 'ServiceAccount/team/bot'),
  );
  const account = 'system:serviceaccount:team:bot';
  const seenOf = (name: string, ...groups: readonly string[]) =>
    view.grant(memberView(makeUser({ name, groups })), 'list', pods);
  assert.deepEqual(seenOf(account), { namespaces: ['one', 'three', 'two'], names: [] });
  assert.deepEqual(seenOf(account, 'other'), { namespaces: ['one', 'three'], names: [] });
  assert.deepEqual(seenOf('system:anonymous'), { namespaces: [], names: [] });
});

test('a role may come after its bindings, change under them, and go', () => {
  const bound = binding('b', 'team', 'Role/reader', 'User/jane');
  const view = viewOf(bound, role('reader', undefined, rule('list', 'nodes')));
  const seen = () => grantAllows(view.grant(jane, 'list', pods), 'team', 'x');
  assert.equal(seen(), false);
  put(view, role('reader', 'team', rule('list', 'pods')));
  assert.equal(seen(), true);
  put(view, role('reader', 'team', rule('list', 'secrets')));
  assert.equal(seen(), false);
  put(view, role('reader', 'team', rule('list', 'pods')));
  put(view, binding('b', 'team', 'Role/reader', 'User/joe'));
  assert.equal(seen(), false);
  put(view, bound);
  assert.equal(seen(), true);
  put(view, bound, true);
  assert.equal(seen(), false);
});

test('what is true of one object is what kube-apiserver would say about it, for random RBAC', () => {
  const rounds = Number(process.env['RBAC_ROUNDS'] ?? 25);
  for (let seed = 1; seed <= rounds; seed++) differential(seed);
});

/** The compiled view against the definition: walk all bindings for every object. */
function differential(seed: number): void {
  const pick = picker(seed);
  const objects = randomObjects(pick);
  const view = viewOf();
  // In another order, with every third object put twice and some taken away again.
  for (const object of objects.toSorted(() => pick([-1, 1]))) put(view, object);
  const gone = new Set(objects.filter(() => pick([0, 0, 0, 1]) === 1));
  for (const object of gone) put(view, object, true);
  const left = objects.filter((object) => !gone.has(object));

  for (let round = 0; round < 12; round++) {
    const user = testUser(pick(['jane', 'joe', 'system:serviceaccount:a:bot']), ...pick([[], ['dev'], ['dev', 'ops']]));
    const type = pick([pods, nodes, namespaces, { group: 'apps', resource: 'deployments', namespaced: true }]);
    for (const verb of ['get', 'list', 'watch'] as const) {
      const grant = view.grant(user, verb, type);
      for (const namespace of type.namespaced ? ['a', 'b', 'c'] : ['']) {
        for (const name of ['a', 'b', 'x', 'y']) {
          const expected = isVisible(left, user, verb, type, namespace, name);
          const what = JSON.stringify({ seed, user: user.name, groups: user.groups, verb, type, namespace, name });
          assert.equal(grantAllows(grant, namespace, name), expected, what);
        }
      }
    }
  }
}

type Question = { readonly verb: string; readonly group: string; readonly resource: string };

function isVisible(
  objects: readonly TestObject[],
  user: { readonly name: string; readonly groups: readonly string[] },
  verb: RowVerb,
  { group, resource }: { readonly group: string; readonly resource: string },
  namespace: string,
  name: string,
): boolean {
  const may = (asked: string, inNamespace: string, named: string) =>
    authorize(objects, user, { verb: asked, group, resource }, inNamespace, named);
  const listed = (asked: string) =>
    may(asked, '', '') ||
    (namespace !== '' && may(asked, namespace, '')) ||
    may(asked, namespace, name) ||
    may(asked, '', name);
  if (verb === 'get') return may('get', resource === 'namespaces' && group === '' ? name : namespace, name);
  return verb === 'list' ? listed('list') : listed('list') && listed('watch');
}

/** rbac.go Authorize and rule.go VisitRulesFor, in their own order. */
function authorize(
  objects: readonly TestObject[],
  user: { readonly name: string; readonly groups: readonly string[] },
  question: Question,
  namespace: string,
  name: string,
): boolean {
  const rulesOf = (kind: string, inNamespace: string, roleName: string) =>
    objects.find(
      (o) => o.kind === kind && o.metadata.name === roleName && (o.metadata.namespace ?? '') === inNamespace,
    )?.['rules'];
  const visit = (bound: TestObject, inNamespace: string): boolean => {
    const applies = (bound['subjects'] as { kind: string; name: string; namespace?: string }[]).some((subject) => {
      if (subject.kind === 'User') return subject.name === user.name;
      if (subject.kind === 'Group') return user.groups.includes(subject.name);
      const home = subject.namespace ?? inNamespace;
      return home !== '' && user.name === `system:serviceaccount:${home}:${subject.name}`;
    });
    if (!applies) return false;
    const reference = bound['roleRef'] as { kind: string; name: string };
    const rules =
      reference.kind === 'Role'
        ? rulesOf('Role', inNamespace, reference.name)
        : rulesOf('ClusterRole', '', reference.name);
    return ((rules ?? []) as Record<string, string[]>[]).some(
      (each) =>
        has(each['verbs']!, question.verb) &&
        has(each['apiGroups']!, question.group) &&
        has(each['resources']!, question.resource) &&
        (each['resourceNames'] === undefined ||
          each['resourceNames'].length === 0 ||
          each['resourceNames'].includes(name)),
    );
  };
  const has = (items: readonly string[], value: string) => items.includes('*') || items.includes(value);
  if (objects.some((object) => object.kind === 'ClusterRoleBinding' && visit(object, ''))) return true;
  if (namespace === '') return false;
  return objects.some((o) => o.kind === 'RoleBinding' && o.metadata.namespace === namespace && visit(o, namespace));
}

type Pick = <T>(items: readonly T[]) => T;

function picker(seed: number): Pick {
  const random = createRandom(seed);
  return (items) => items[(random() * 2 ** 32) % items.length]!;
}

function randomObjects(pick: Pick): TestObject[] {
  const objects: TestObject[] = [];
  const someRules = () =>
    Array.from({ length: pick([0, 1, 2]) }, () => ({
      verbs: pick([['list'], ['get'], ['watch'], ['list', 'watch'], ['get', 'list', 'watch'], ['*']]),
      apiGroups: pick([[''], ['apps'], ['*'], ['', 'apps']]),
      resources: pick([['pods'], ['nodes'], ['namespaces'], ['deployments', 'pods'], ['*'], ['pods/log'], ['*/log']]),
      ...pick([{}, {}, { resourceNames: pick([['x'], ['a'], ['y', ''], ['x', 'y'], []]) }]),
    }));
  for (const name of ['r', 's', 't']) {
    objects.push(role(name, undefined, ...someRules()));
    for (const namespace of ['a', 'b']) objects.push(role(name, namespace, ...someRules()));
  }
  for (let index = 0; index < 8; index++) {
    const namespace = pick([undefined, 'a', 'b', 'c']);
    const reference = `${pick(['Role', 'ClusterRole'])}/${pick(['r', 's', 't', 'missing'])}`;
    const subject = pick([
      'User/jane',
      'User/joe',
      'Group/dev',
      'Group/ops',
      'ServiceAccount/a/bot',
      'ServiceAccount/bot',
    ]);
    objects.push(binding(`b${index}`, namespace, reference, subject, pick(['User/nobody', 'Group/dev'])));
  }
  return objects;
}
