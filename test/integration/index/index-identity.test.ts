// As whom the index reads members, and where people see that it cannot: a gateway whose credential is an
// administrator's or a reader's, in members that know nothing of Portcullis. Whatever the index reads with, a row is
// decided by the rights of the caller.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { Failure } from '../../../cli/terminal/failure.ts';
import { generateMemberAccess } from '../../../cli/member-access/generate-member-access.ts';
import { recordingTerminal } from '../../../cli/stub-gateway.fixture.ts';
import { configMap } from '../../../sim/simulator.fixture.ts';
import type { JsonObject } from '../../../sim/model/types.ts';
import { eventually } from '../../site/polling.ts';
import { binding, startIndexSite } from './index-site.ts';
import type { Answer, CredentialRights, IndexedList, IndexSite } from './index-site.ts';
import { clusterRole } from '../../site/rbac.ts';
import { rulesText } from '../../site/site.ts';
import { tempDir } from '../../pretend/temp-dir.ts';

const rbac = 'rbac.authorization.k8s.io';
const proxy = '/apis/search.portcullis.io/v1alpha1/indexes/default/proxy';
const questions = '/apis/search.portcullis.io/v1alpha1/indexes/default';
const clustersPath = '/apis/gateway.portcullis.io/v1alpha1/clusters';
const table = { headers: { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' } };
const admin: CredentialRights = { groups: ['system:masters'], seed: [] };
const users = ['alice', 'bob'];

const reading = { apiGroups: ['*'], resources: ['*'], verbs: ['get', 'list', 'watch'] };
/** alice may read; bob may nothing. */
const ofAlice = [clusterRole('read', [reading]), binding('alice', 'read', 'alice')];
const seeds = { m1: [...ofAlice, inDefault('there')] };

/** alice may ask m1 and the index, and list the clusters. */
const rules = [
  { clusters: ['m1'], verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
  {
    verbs: ['*'],
    apiGroups: ['search.portcullis.io', 'gateway.portcullis.io'],
    resources: ['*'],
    nonResourceURLs: ['*'],
  },
].map((rule) => ({ subjects: [{ kind: 'User', name: 'alice' }], ...rule }));

function inDefault(name: string): JsonObject {
  const object = configMap(name);
  return { ...object, metadata: { ...object['metadata'], namespace: 'default' } };
}

const listPath = `${proxy}/api/v1/configmaps`;

async function rowsOf(site: IndexSite, user: string): Promise<readonly string[]> {
  const answer = await site.ask(listPath, user);
  if (answer.status !== 200) return [];
  return answer.json<IndexedList>().items.map(({ metadata }) => metadata.name);
}

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

async function conditionOf(site: IndexSite, cluster = 'm1'): Promise<Condition | undefined> {
  const answer = await site.ask(`${clustersPath}/${cluster}`);
  const { status } = answer.json<{ status: { conditions: readonly Condition[] } }>();
  return status.conditions.find(({ type }) => type === 'Indexed');
}

async function columnOf(site: IndexSite, cluster = 'm1'): Promise<unknown> {
  const answer = await site.ask(`${clustersPath}/${cluster}`, 'alice', table);
  const { columnDefinitions, rows } = answer.json<{
    columnDefinitions: readonly { name: string }[];
    rows: readonly { cells: readonly unknown[] }[];
  }>();
  return rows[0]!.cells[columnDefinitions.findIndex(({ name }) => name === 'Index')];
}

function warningsOf({ headers }: Answer): string {
  return String(headers['warning'] ?? '');
}

/** As whom the member has answered lists and watches with 200. */
function readers(site: IndexSite): readonly string[] {
  const read = site.members['m1']!.audit.entries.filter(
    ({ verb, path, code }) => ['list', 'watch'].includes(verb) && path.includes('configmaps') && code === 200,
  );
  return [...new Set(read.map(({ user, impersonatedUser }) => impersonatedUser?.name ?? user?.name ?? ''))];
}

describe('an administrator credential, untouched members', () => {
  let site: IndexSite;
  before(async () => {
    site = await startIndexSite(users, seeds, { indexResources: 'configmaps' }, admin);
  });
  after(() => site.close());

  test('rows appear, read as the credential itself, which the cluster says', async () => {
    await eventually('rows', async () => (await rowsOf(site, 'alice')).includes('there'));
    assert.deepEqual(readers(site), ['gateway']);
    await eventually('synced', async () => (await columnOf(site)) === 'Synced');
    const condition = await conditionOf(site);
    assert.equal(condition?.status, 'True');
    assert.match(condition.message, /gateway's own credential/);
    assert.match(
      condition.message,
      /portcullis generate member-access --index --index-resources configmaps --apply --context m1/,
    );
  });

  test('who has no rights in the member sees no row of it, whatever the index reads with', async () => {
    await eventually('rows', async () => (await rowsOf(site, 'alice')).includes('there'));
    const answer = await site.ask(listPath, 'bob');
    assert.equal(answer.text.includes('there'), false);
    const counts = await site.ask(`${questions}/counts?resource=configmaps.v1.`, 'bob');
    assert.equal(counts.json<{ count?: number }>().count ?? 0, 0);
  });

  test('a later grant to portcullis:index switches back to it, with a new list', async () => {
    await eventually('rows', async () => (await rowsOf(site, 'alice')).includes('there'));
    const member = site.members['m1']!;
    const bindings = `/apis/${rbac}/v1/clusterrolebindings`;
    assert.equal(await asAdmin(member, 'POST', bindings, binding('index', 'read', 'portcullis:index')), 201);
    await eventually('read as portcullis:index', () => Promise.resolve(readers(site).includes('portcullis:index')));
    await eventually(
      'told',
      async () => !/own credential/.test((await conditionOf(site))?.message ?? 'own credential'),
    );
    // The first was refused, before there was a grant.
    await eventually('listed anew as portcullis:index', () =>
      isDeepStrictEqual(
        member.audit.entries
          .filter(({ path, impersonatedUser }) => isWholeList(path) && impersonatedUser !== undefined)
          .map(({ code }) => code),
        [403, 200],
      ),
    );
    assert.deepEqual(await rowsOf(site, 'alice'), ['there']);
  });
});

function isWholeList(path: string): boolean {
  return path.includes('/configmaps?') && path.includes('limit=500');
}

/** @returns the status of the answer */
function asAdmin(
  { url, caPem, adminToken }: IndexSite['members'][string],
  method: string,
  path: string,
  body: JsonObject,
): Promise<number> {
  return new Promise((resolve, reject) => {
    const call = request(
      url + path,
      { method, ca: caPem, headers: { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' } },
      (response) => {
        response.resume().on('end', () => resolve(response.statusCode!));
      },
    );
    call.on('error', reject);
    call.end(JSON.stringify(body));
  });
}

describe('the same with --index-identity impersonate', () => {
  let site: IndexSite;
  before(async () => {
    site = await startIndexSite(users, seeds, { indexResources: 'configmaps', indexIdentity: 'impersonate' }, admin);
  });
  after(() => site.close());

  test('nothing is read as the credential; the 404, its Warning, the column and freshness say why and what mends it', async () => {
    await eventually('told', async () => (await columnOf(site)) === 'Forbidden');
    assert.deepEqual(readers(site), []);
    const answer = await site.ask(listPath, 'alice');
    assert.equal(answer.status, 404, answer.text);
    const { message } = answer.json<{ message: string }>();
    for (const text of [message, warningsOf(answer)]) {
      assert.match(text, /m1/);
      assert.match(text, /forbidden to portcullis:index/);
      assert.match(text, /portcullis generate member-access --index --apply/);
    }
    const discovery = await site.ask(`${proxy}/api`, 'alice');
    assert.match(warningsOf(discovery), /forbidden to portcullis:index/, 'kubectl asks for this first');
    const ofCluster = await site.ask(`${proxy}/clusters/m1/api`, 'alice');
    assert.equal(ofCluster.status, 200, ofCluster.text);
    assert.match(warningsOf(ofCluster), /forbidden to portcullis:index/);
    const condition = await conditionOf(site);
    assert.equal(condition?.status, 'False');
    assert.equal(condition.reason, 'Forbidden');
    assert.match(
      condition.message,
      /portcullis generate member-access --index --index-resources configmaps --apply --context m1/,
    );
    const freshness = (await site.ask(`${questions}/freshness`, 'alice')).json<{
      clusters: readonly { cluster: string; fault?: { reason: string } }[];
    }>();
    assert.deepEqual(
      freshness.clusters.map(({ cluster, fault }) => [cluster, fault?.reason]),
      [['m1', 'Forbidden']],
    );
  });
});

describe('generate member-access --index --apply', () => {
  let site: IndexSite;
  let folder: string;
  before(async () => {
    folder = tempDir('apply');
    site = await startIndexSite(users, seeds, { indexResources: 'configmaps', indexIdentity: 'impersonate' }, admin);
  });
  after(async () => {
    await site.close();
  });

  /** Of one member, with this token. */
  function kubeconfigOf(token: string): string {
    const { url, caPem } = site.members['m1']!;
    const file = join(folder, `${token}.yaml`);
    const cluster = { server: url, 'certificate-authority-data': Buffer.from(caPem).toString('base64') };
    const config = {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'm1', cluster }],
      users: [{ name: 'u', user: { token } }],
      contexts: [{ name: 'm1', context: { cluster: 'm1', user: 'u' } }],
    };
    writeFileSync(file, JSON.stringify(config), { mode: 0o600 });
    return file;
  }

  async function apply(token: string): Promise<string> {
    const terminal = recordingTerminal({});
    const flags = { impersonationMode: 'full', index: true, apply: true, indexResources: 'configmaps' } as const;
    await generateMemberAccess({ ...flags, kubeconfig: kubeconfigOf(token), context: 'm1' }, terminal);
    return terminal.printed();
  }

  test('who may not change RBAC is told so, and what to do', async () => {
    site.members['m1']!.addToken('weak', { name: 'weak', groups: [] });
    const error = await apply('weak').catch((reason: unknown) => reason);
    assert.ok(error instanceof Failure, String(error));
    assert.match(error.message, /does not let this context apply ClusterRole portcullis-index \(403\)/);
    assert.match(error.nextStep, /Nothing was applied\..*administrator/);
    const refused = await apply('unknown').catch((reason: unknown) => reason);
    assert.ok(refused instanceof Failure, String(refused));
    assert.match(refused.message, /does not accept the token of this context \(401\)/);
  });

  test('mends what is forbidden: the cluster is followed as portcullis:index; again it changes nothing', async () => {
    await eventually('told', async () => (await columnOf(site)) === 'Forbidden');
    const printed = await apply('gateway-token');
    assert.match(
      printed,
      /^ClusterRole portcullis-index applied at .*\nClusterRoleBinding portcullis-index applied at /,
    );
    await eventually('synced', async () => (await columnOf(site)) === 'Synced');
    assert.deepEqual(await rowsOf(site, 'alice'), ['there']);
    assert.equal(await apply('gateway-token'), printed);
  });
});

describe('a credential that may read and not impersonate', () => {
  let site: IndexSite;
  before(async () => {
    const reviews = { apiGroups: ['authorization.k8s.io'], resources: ['*'], verbs: ['create'] };
    const seed = [clusterRole('reader', [reading, reviews]), binding('reader', 'reader', 'gateway')];
    site = await startIndexSite(users, seeds, { indexResources: 'configmaps' }, { groups: [], seed });
  });
  after(() => site.close());

  test('its members are indexed, and rows are decided by the rights of who asks', async () => {
    await eventually('rows', async () => (await rowsOf(site, 'alice')).includes('there'));
    assert.deepEqual(await rowsOf(site, 'bob'), []);
  });
});

describe('members that grant portcullis:index what it needs', () => {
  test('nothing is read as the credential, though it could; with --index-identity self everything is', async (t) => {
    const seed = [binding('index', 'read', 'portcullis:index')];
    const rights = { groups: ['system:masters'], seed };
    const auto = await startIndexSite(users, seeds, { indexResources: 'configmaps' }, rights);
    t.after(() => auto.close());
    await eventually('rows', async () => (await rowsOf(auto, 'alice')).includes('there'));
    assert.deepEqual(readers(auto), ['portcullis:index']);
    const self = await startIndexSite(users, seeds, { indexResources: 'configmaps', indexIdentity: 'self' }, rights);
    t.after(() => self.close());
    await eventually('rows', async () => (await rowsOf(self, 'alice')).includes('there'));
    assert.deepEqual(readers(self), ['gateway']);
    assert.deepEqual(await rowsOf(self, 'bob'), []);
  });
});

describe('a caller whom the gateway does not let reach a cluster', () => {
  test('learns nothing of it from the 404, its Warning or freshness', async (t) => {
    const folder = tempDir('rules');
    const authorizationRules = join(folder, 'rules.yaml');
    writeFileSync(authorizationRules, rulesText(rules));
    const site = await startIndexSite(
      users,
      { m1: ofAlice, hidden: ofAlice },
      { indexResources: 'configmaps', indexIdentity: 'impersonate', authorizationRules },
      admin,
    );
    t.after(() => site.close());
    await eventually('told', async () => /m1/.test(warningsOf(await site.ask(listPath, 'alice'))));
    await eventually('told', async () => (await columnOf(site, 'hidden')) === 'Forbidden');
    for (const path of [
      listPath,
      `${questions}/freshness`,
      `${questions}/counts?resource=configmaps.v1.`,
      `${proxy}/api`,
    ]) {
      const answer = await site.ask(path, 'alice');
      assert.equal((answer.text + warningsOf(answer)).includes('hidden'), false, path);
      assert.match(answer.text + warningsOf(answer), /m1/, path);
    }
    const [hidden, absent] = await Promise.all(
      ['hidden', 'absent'].map((name) => site.ask(`${proxy}/clusters/${name}/api`, 'alice')),
    );
    assert.deepEqual([hidden!.status, hidden!.text], [404, absent!.text.replaceAll('absent', 'hidden')]);
  });
});
