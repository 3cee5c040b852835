import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { parseAllDocuments, stringify } from 'yaml';
import { Failure } from '../terminal/failure.ts';
import { generateMemberAccess } from './generate-member-access.ts';
import type { MemberAccessFlags } from './generate-member-access.ts';
import { readDiscovery } from './member-discovery.ts';
import { makeFolder, recordingTerminal } from '../stub-gateway.fixture.ts';

const folder = makeFolder();

/** `isAlone`: without a ServiceAccount. */
type TestFlags = Partial<MemberAccessFlags> & { readonly isAlone?: boolean };

async function printed(flags: TestFlags): Promise<string> {
  const terminal = recordingTerminal({});
  const { isAlone = false, ...rest } = flags;
  const named = isAlone ? {} : { gatewayServiceAccount: 'portcullis/gateway' };
  await generateMemberAccess({ impersonationMode: 'full', ...named, ...rest }, terminal);
  return terminal.printed();
}

async function refused(flags: TestFlags): Promise<Failure> {
  const error: unknown = await printed(flags).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof Failure, String(error));
  return error;
}

const coreList = {
  kind: 'APIResourceList',
  groupVersion: 'v1',
  resources: [
    { name: 'pods', kind: 'Pod', namespaced: true, verbs: ['get', 'list', 'create'] },
    { name: 'pods/log', kind: 'Pod', namespaced: true, verbs: ['get'] },
    { name: 'pods/exec', kind: 'PodExecOptions', namespaced: true, verbs: ['get', 'create'] },
  ],
};
const aggregated = {
  kind: 'APIGroupDiscoveryList',
  apiVersion: 'apidiscovery.k8s.io/v2',
  items: [
    {
      metadata: { name: 'apps' },
      versions: [
        {
          version: 'v1',
          resources: [
            {
              resource: 'deployments',
              verbs: ['get', 'watch'],
              subresources: [{ subresource: 'scale', verbs: ['get', 'update'] }],
            },
          ],
        },
      ],
    },
  ],
};

describe('portcullis generate member-access', () => {
  test('prints objects that can be applied, after comments that say how', async () => {
    const text = await printed({});
    assert.match(text, /^# Made by: portcullis generate member-access/);
    const kinds = parseAllDocuments(text).map((document) => document.get('kind'));
    assert.deepEqual(kinds, ['ClusterRole', 'ClusterRoleBinding', 'ClusterRole', 'ClusterRoleBinding']);
  });

  test('reads saved discovery of both kinds, one document or several', () => {
    const file = folder.write('discovery.yaml', `${JSON.stringify(coreList)}\n---\n${stringify(aggregated)}`);
    assert.deepEqual(readDiscovery(file), [
      { group: '', name: 'pods', verbs: ['get', 'list', 'create'] },
      { group: '', name: 'pods/log', verbs: ['get'] },
      { group: '', name: 'pods/exec', verbs: ['get', 'create'] },
      { group: 'apps', name: 'deployments', verbs: ['get', 'watch'] },
      { group: 'apps', name: 'deployments/scale', verbs: ['get', 'update'] },
    ]);
  });

  test('read-only from a file names its readable resources', async () => {
    const file = folder.write('core.json', JSON.stringify(coreList));
    const text = await printed({ constrained: true, readOnly: true, discovery: file });
    assert.match(text, /impersonate-on:user-info:list/);
    assert.match(text, /- pods\/log\n/);
    assert.doesNotMatch(text, /exec|"\*"|'\*'/);
  });

  test('contradicting flags are refused with what to do', async () => {
    const file = folder.write('core.json', JSON.stringify(coreList));
    assert.match((await refused({ readOnly: true })).message, /--read-only needs --constrained/);
    assert.match((await refused({ discovery: file })).message, /only with --read-only/);
    assert.match((await refused({ context: 'm1', constrained: true })).message, /only with --read-only/);
    const readOnly = { constrained: true, readOnly: true, discovery: file };
    assert.match((await refused({ ...readOnly, context: 'm1' })).message, /cannot be used together with --kubeconfig/);
    assert.match((await refused({ ...readOnly, impersonateExtra: '*' })).message, /needs the name of every extra key/);
    assert.match((await refused({ impersonateExtra: 'a b' })).message, /not an extra key/);
    for (const account of ['gateway', 'a/b/c', '/x', 'A/b', 'a/', 'a/b*'])
      assert.match((await refused({ gatewayServiceAccount: account })).message, /must be NAMESPACE\/NAME/);
    for (const failure of [await refused({ readOnly: true }), await refused({ gatewayServiceAccount: '' })])
      assert.deepEqual([failure.exitCode, failure.nextStep === ''], [2, false]);
  });

  test('a file that is no discovery grants nothing', async () => {
    for (const [text, reason] of [
      ['{', /neither JSON nor YAML/],
      ['', /names no resources/],
      ['kind: Pod', /no discovery document/],
      ['[]', /no discovery document/],
      ['kind: APIResourceList', /names no resources/],
    ] as const) {
      const discovery = folder.write('bad.yaml', text);
      assert.match((await refused({ constrained: true, readOnly: true, discovery })).message, reason);
    }
  });

  test('extra keys follow the flag that the gateway has', async () => {
    assert.match(
      await printed({ impersonateExtra: 'Scopes, a.io/k' }),
      /- userextras\/a\.io\/k\n\s+- userextras\/scopes\n/,
    );
    assert.doesNotMatch(await printed({ impersonateExtra: '' }), /userextras\//);
    assert.match(await printed({ impersonationMode: 'username' }), /--impersonation-mode=username/);
  });
});

describe('--index', () => {
  const rolesOf = (text: string): ReadonlyMap<string, any> =>
    new Map(
      parseAllDocuments(text)
        .map((document) => document.toJS())
        .map((object) => [`${object.kind}/${object.metadata.name}`, object]),
    );

  test('grants portcullis:index what is followed of every cluster and what is chosen, and Secrets only when they are', async () => {
    const objects = rolesOf(await printed({ index: true }));
    const { rules } = objects.get('ClusterRole/portcullis-index');
    const read = rules.flatMap(({ apiGroups = [], resources = [], verbs }: any) =>
      resources.map((resource: string) => `${resource}.${apiGroups[0]} ${verbs.join()}`),
    );
    for (const wanted of [
      'namespaces. get,list,watch',
      'roles.rbac.authorization.k8s.io list,watch',
      'customresourcedefinitions.apiextensions.k8s.io list,watch',
      'pods. list,watch',
      'deployments.apps list,watch',
    ]) {
      assert.ok(read.includes(wanted), wanted);
    }
    assert.equal(
      read.some((each: string) => each.startsWith('secrets') || each.startsWith('*')),
      false,
    );
    assert.deepEqual(objects.get('ClusterRoleBinding/portcullis-index').subjects, [
      { kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'portcullis:index' },
    ]);
    const chosen = rolesOf(await printed({ index: true, indexResources: 'secrets,pods{labels=a in (b,c)}' }));
    const core = chosen.get('ClusterRole/portcullis-index').rules.at(-2);
    assert.deepEqual(core, { apiGroups: [''], resources: ['pods', 'secrets'], verbs: ['list', 'watch'] });
  });

  test('without a ServiceAccount it is what the index reads alone, for a gateway that may impersonate already', async () => {
    const text = await printed({ index: true, isAlone: true });
    assert.deepEqual(
      [...rolesOf(text).keys()],
      ['ClusterRole/portcullis-index', 'ClusterRoleBinding/portcullis-index'],
    );
    assert.match(text, /--as portcullis:index/);
    assert.match((await refused({ isAlone: true })).message, /--gateway-service-account is missing/);
    const about = await refused({ index: true, constrained: true, isAlone: true });
    assert.match(about.message, /about the ServiceAccount/);
  });

  test('a cluster is chosen only to be asked or to be applied in', async () => {
    assert.match((await refused({ index: true, context: 'm1' })).nextStep, /--apply/);
    const missing = await refused({ index: true, apply: true, kubeconfig: join(folder.path, 'absent') });
    assert.match(missing.nextStep, /leave out --apply/);
  });

  test('without it nothing of the index is granted; what cannot be read is refused', async () => {
    assert.equal((await printed({})).includes('portcullis:index'), false);
    assert.match((await refused({ indexResources: 'pods' })).message, /--index-resources/);
    assert.match((await refused({ index: true, indexResources: 'Pods!' })).message, /no resource/);
  });
});
