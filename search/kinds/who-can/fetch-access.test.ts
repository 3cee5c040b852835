import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeRbacView } from '../../../rights/rbac/rbac-view.ts';
import type { ClusterAccess } from '../../../rights/cluster-access.ts';
import { testUser } from '../../../rights/rights.fixture.ts';
import type { AnswerDependencies } from '../../api/answer-dependencies.ts';
import { fetchWhatCan, fetchWhoCan } from './fetch-access.ts';

const secrets = { verb: 'get', group: '', resource: 'secrets', subresource: '', name: undefined, namespace: undefined };
const request = { user: testUser('asker') };
const count = 5_000;
const numbers = Array.from({ length: count }, (_, i) => i);

interface Row {
  readonly cluster: string;
  readonly becomes?: readonly object[];
}
interface Answer {
  readonly items: readonly Row[];
  readonly mayBecome?: readonly Row[];
  readonly incomplete: readonly { readonly cluster: string; readonly reason: string }[];
}

type Put = ReturnType<typeof makeRbacView>['put'];

function clusterOf(cluster: string, fill: (put: Put) => void): ClusterAccess {
  let generation = 0;
  const view = makeRbacView(() => (generation += 1));
  fill((...object) => view.put(...object));
  const known = { view, isReadable: () => true, isNamespaced: () => true };
  return { cluster, known: [known], identity: testUser('tenant'), gaps: [] };
}

function bind(put: Put, name: string, roleRef: object, ...subjects: readonly string[]): void {
  put('rolebindings', 'shop', name, { roleRef, subjects: subjects.map((each) => ({ kind: 'User', name: each })) });
}

const small = clusterOf('small', (put) => {
  put('clusterroles', '', 'reader', { rules: [{ verbs: ['get'], apiGroups: [''], resources: ['secrets'] }] });
  bind(put, 'one', { kind: 'ClusterRole', name: 'reader' }, 'tenant');
});

async function answerOf(kind: 'whocan' | 'becoming' | 'whatcan', hostile: ClusterAccess): Promise<Answer> {
  const access = async () => ({ clusters: [small, hostile], digest: '' });
  const dependencies = { rights: { access } } as unknown as AnswerDependencies;
  const question =
    kind === 'whatcan'
      ? { kind, subject: { name: 'tenant', groups: [] }, hasUnknownGroups: false }
      : { kind: 'whocan', access: secrets, mayBecome: kind === 'becoming' };
  const planned = { request, question } as never;
  return (await (kind === 'whatcan' ? fetchWhatCan : fetchWhoCan)(planned, dependencies)) as Answer;
}

function isBounded({ items, mayBecome = [], incomplete }: Answer): void {
  const named = mayBecome.reduce((sum, { becomes = [] }) => sum + 1 + becomes.length, 0);
  assert.ok(items.length <= 50_001 && named <= 60_000, `${items.length} rows, ${named} others`);
  assert.equal(items.filter(({ cluster }) => cluster === 'small').length, 1);
  assert.deepEqual(
    incomplete.map(({ cluster, reason }) => [cluster, reason]),
    [['large', 'TooManyRows']],
  );
}

/** A rule for each of many Secrets. */
const secretByName = numbers.map((i) => ({
  verbs: ['get'],
  apiGroups: [''],
  resources: ['secrets'],
  resourceNames: [`s${i}`],
}));

test('one Role of many rules and one binding of many subjects end an answer at its limit (ATT-64)', async () => {
  const hostile = clusterOf('large', (put) => {
    put('roles', 'shop', 'many', { rules: secretByName });
    bind(put, 'many', { kind: 'Role', name: 'many' }, ...numbers.map((i) => `u${i}`));
  });
  isBounded(await answerOf('whocan', hostile));
});

test('many bindings to one Role of many rules end an answer at its limit (ATT-64)', async () => {
  const hostile = clusterOf('large', (put) => {
    put('roles', 'shop', 'many', { rules: secretByName });
    for (const i of numbers) bind(put, `b${i}`, { kind: 'Role', name: 'many' }, 'tenant');
  });
  isBounded(await answerOf('whatcan', hostile));
});

test('many who may and many who could become them end an answer at its limit (ATT-64)', async () => {
  const edit = [
    { verbs: ['get', 'create', 'impersonate'], apiGroups: ['', 'apps', 'batch'], resources: ['*'] },
    { verbs: ['create'], apiGroups: [''], resources: ['serviceaccounts/token'] },
  ];
  const hostile = clusterOf('large', (put) => {
    put('clusterroles', '', 'edit', { rules: edit });
    for (const i of numbers)
      put('rolebindings', 'shop', `b${i}`, {
        roleRef: { kind: 'ClusterRole', name: 'edit' },
        subjects: [{ kind: 'ServiceAccount', name: `a${i}` }],
      });
  });
  isBounded(await answerOf('becoming', hostile));
});

test('many who reach nobody are not compared with everybody for ever (ATT-64)', async () => {
  const names = numbers.slice(0, 100).map((i) => `nobody-${i}`);
  const hostile = clusterOf('large', (put) => {
    put('roles', 'shop', 'read', { rules: [{ verbs: ['get'], apiGroups: [''], resources: ['secrets'] }] });
    for (const i of numbers) {
      const pods = { verbs: ['create'], apiGroups: [''], resources: ['pods'], resourceNames: [`x${i}`] };
      const token = { verbs: ['create'], apiGroups: [''], resources: ['serviceaccounts/token'], resourceNames: names };
      put('roles', 'shop', `r${i}`, { rules: [pods, token] });
      const account = { kind: 'ServiceAccount', name: `a${i}` };
      put('rolebindings', 'shop', `r${i}`, { roleRef: { kind: 'Role', name: `r${i}` }, subjects: [account] });
      put('rolebindings', 'shop', `b${i}`, { roleRef: { kind: 'Role', name: 'read' }, subjects: [account] });
    }
  });
  isBounded(await answerOf('becoming', hostile));
});
