// Rights of a member whose API server has a webhook authorizer beside RBAC: its roles say less than the truth, so the
// index asks it, through a whole gateway. Nothing in the member's objects tells of the webhook, only its answer that
// the rules it lists are incomplete.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { allowAuthenticated } from '../../../auth/rules/authorize.ts';
import { makeUser } from '../../../model/user.ts';
import { indexRules } from '../../../lib/rights/index-rules.ts';
import { testRecord } from '../../../rights/rights.fixture.ts';
import type { ModeChange } from '../../../rights/modes.ts';
import type { MemberReviews } from '../../../rights/review.ts';
import { makeScopes } from '../../../rights/scopes.ts';
import { openSqliteStore } from '../../../store/sqlite/store.ts';
import { startControlPlane } from '../../controlplane/fixture.ts';
import { gatewayUser } from '../../controlplane/fixture-types.ts';
import type { ControlPlane, Member } from '../../controlplane/fixture.ts';
import { startGatewayProcess } from '../../gateway-process.ts';
import type { GatewayProcess } from '../../gateway-process.ts';
import { makeRightsMember } from './index-rights-member.ts';
import { copyMember } from './index-rights-site.ts';
import { ask } from '../kubectl/kubectl-as.ts';
import { startWebhookAuthorizer } from './webhook-authorizer.ts';
import type { WebhookAuthorizer } from './webhook-authorizer.ts';
import { eventually } from '../../site/polling.ts';
import { grantedClusterRole, grantedRole, userSubject } from '../../site/rbac.ts';
import { tempDir } from '../../pretend/temp-dir.ts';

const indexed = '/apis/search.portcullis.io/v1alpha1/indexes/default/proxy/api/v1/configmaps';
const namespaces = ['n1', 'n2', 'n3'];
const wanda = { name: 'wanda', groups: [], token: 'wanda-at-the-gateway' };
const jane = { name: 'jane', groups: [], token: 'jane-at-the-gateway' };
const nobody = { name: 'nobody', groups: [], token: 'nobody-at-the-gateway' };

let webhook: WebhookAuthorizer;
const folder = tempDir('review');
let plane: ControlPlane;
let member: Member;
let gateway: GatewayProcess;

before(async () => {
  // Allows wanda to list ConfigMaps in n1.
  webhook = await startWebhookAuthorizer(folder, ({ user, resourceAttributes: asked }) => {
    return user === 'wanda' && asked?.resource === 'configmaps' && asked.verb === 'list' && asked.namespace === 'n1';
  });
  plane = await startControlPlane({ members: ['m1'], audit: false, apiserverArgs: webhook.apiserverArgs });
  member = plane.member('m1');
  for (const name of namespaces) {
    await member.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
    await member.apply({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: `in-${name}`, namespace: name } });
  }
  await member.apply(
    ...granted('index', 'portcullis:index', ...indexRules(['configmaps'])),
    ...grantedRole('n2', 'reader', [readsConfigMaps], userSubject('jane')),
  );
  gateway = await startGatewayProcess({
    kubeconfigs: [plane.gatewayKubeconfig],
    users: [wanda, jane, nobody],
    args: ['--index-resources', 'configmaps'],
  });
});

after(async () => {
  await gateway?.stop('SIGKILL');
  await plane?.stop();
  webhook?.close();
});

const readsConfigMaps = { verbs: ['list'], apiGroups: [''], resources: ['configmaps'] };

function granted(name: string, user: string, ...rules: readonly object[]): readonly object[] {
  return grantedClusterRole(name, rules, userSubject(user));
}

interface Seen {
  readonly status: number;
  readonly rows: readonly string[];
  readonly warning: string;
}

/** ConfigMaps of the three namespaces by this path. */
async function listed(user: { readonly token: string }, path: string): Promise<Seen> {
  const answer = await ask(gateway, user.token, 'GET', path);
  const list = JSON.parse(answer.body.toString('utf8')) as {
    readonly items?: readonly { readonly metadata: { readonly namespace: string; readonly name: string } }[];
  };
  const rows = (list.items ?? []).filter(({ metadata }) => namespaces.includes(metadata.namespace));
  return {
    status: answer.status,
    rows: rows.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`).toSorted(),
    warning: String(answer.headers['warning'] ?? ''),
  };
}

describe('a member with an authorizer that its RBAC does not tell of', () => {
  test('as long as it may not be asked, nothing of it is shown and it is named', async () => {
    const shown: string[] = [];
    await eventually('the index knows the type, and tells that the cluster is hidden', async () => {
      const { status, rows, warning } = await listed(jane, indexed);
      shown.push(...rows);
      return status === 200 && warning.includes('m1') && warning.includes('subjectaccessreviews');
    });
    assert.deepEqual(shown, []);
  });

  test('everybody sees in the index what the cluster gives them through the gateway', async () => {
    await member.apply(
      ...granted('reviews', gatewayUser, {
        verbs: ['create'],
        apiGroups: ['authorization.k8s.io'],
        resources: ['subjectaccessreviews'],
      }),
    );
    await eventually('the webhook’s word counts', async () => (await listed(wanda, indexed)).rows.length > 0);
    for (const [user, expected] of [
      [wanda, ['n1/in-n1']],
      [jane, ['n2/in-n2']],
      [nobody, []],
    ] as const) {
      const throughGateway: string[] = [];
      for (const namespace of namespaces) {
        const path = `/clusters/m1/proxy/api/v1/namespaces/${namespace}/configmaps`;
        throughGateway.push(...(await listed(user, path)).rows);
      }
      assert.deepEqual(throughGateway, expected, user.name);
      assert.deepEqual((await listed(user, indexed)).rows, expected, user.name);
    }
    assert.match(gateway.log(), /has authorizers beside RBAC/);
  });

  test('when it is down its rows are hidden once its answers are 10 s old, and it is named; back up, they are back', async () => {
    assert.deepEqual((await listed(wanda, indexed)).rows, ['n1/in-n1']);
    await member.kill();
    const hidden = await eventually('rows of the dead member are hidden', async () => {
      const answer = await listed(wanda, indexed);
      return answer.rows.length === 0 && answer;
    });
    assert.equal(hidden.status, 200);
    assert.match(hidden.warning, /m1/);
    await member.restart();
    await eventually(
      'rows are back',
      async () => (await listed(wanda, indexed)).rows.length > 0,
      // The breaker of a member that was down lets one request through now and then.
      { timeoutMs: 60_000 },
    );
  });

  test('told to trust its RBAC alone, the index finds out by samples, raises an alarm and asks from then on', async (t) => {
    const rights = makeRightsMember(member);
    const store = await openSqliteStore({ directory: join(folder, 'store') });
    t.after(async () => {
      rights.close();
      await store.close();
    });
    await copyMember(store, rights);
    const reviews: MemberReviews = {
      isIncomplete: () => Promise.reject(new Error('nobody asks that')),
      isAllowed: async (_record, spec) => {
        const review = { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', spec };
        const answer = await member.request('POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', review);
        return (JSON.parse(answer.body) as { status: { allowed: boolean } }).status.allowed;
      },
    };
    const changes: ModeChange[] = [];
    const scopes = makeScopes({
      store,
      clusters: { list: () => [testRecord('m1')] },
      authorizer: allowAuthenticated(),
      outgoing: (user) => user,
      maxAgeMs: 3_600_000,
      reviews,
      choice: 'rbac',
      sampleRate: 1,
      // Nothing changes in this member, so every moment confirms it.
      confirmedAtMs: () => Date.now() + 1,
      onModeChange: (change) => changes.push(change),
    });
    t.after(() => scopes.close());
    const configMaps = { group: '', resource: 'configmaps' };
    let uid = 0;
    // Another uid is another identity: a decision of its own, and another chance that the sample is about n1.
    const wandas = () => makeUser({ name: 'wanda', uid: String(++uid), groups: ['system:authenticated'] });
    const before = await scopes.scope(wandas(), 'list', [configMaps]);
    assert.equal(before.scope.grants.size, 0, 'RBAC alone shows nothing');
    await eventually('a sample differs', async () => {
      await scopes.scope(wandas(), 'list', [configMaps]);
      return changes.length > 0;
    });
    assert.deepEqual(
      changes.map(({ mode, why }) => [mode, why]),
      [['review', 'mismatch']],
    );
    const { scope } = await scopes.scope(wandas(), 'list', [configMaps]);
    assert.deepEqual(scope.grants.get('uid-m1/1')?.get('configmaps.'), { namespaces: ['n1'], names: [] });
  });
});
