import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { Failure } from '../terminal/failure.ts';
import { makeFolder, recordingTerminal, startStub } from '../stub-gateway.fixture.ts';
import type { StubGateway } from '../stub-gateway.fixture.ts';
import { whatCan, whoCan } from './access-commands.ts';
import type { WhatCanFlags, WhoCanFlags } from './access-commands.ts';
import { makeTestAuthority } from '../../test/pretend/certificates.ts';
import { sendJson, sendStatus } from '../../test/pretend/server.ts';

const binding = { kind: 'RoleBinding', namespace: 'shop', name: 'cleaners' };
const via = { binding, role: { kind: 'ClusterRole', name: 'cleaner' } };
const rule = { verbs: ['get', 'delete'], apiGroups: ['', 'apps'], resources: ['secrets', 'deployments/scale'] };
const row = { cluster: 'm1', subject: { kind: 'User', name: 'jane' }, namespace: 'shop', rule, via };
const wide = {
  cluster: 'm2',
  subject: { kind: 'ServiceAccount', namespace: 'ops', name: 'robot' },
  rule: { ...rule, resourceNames: ['a'] },
  via: { binding: { kind: 'ClusterRoleBinding', name: 'robots' }, role: { kind: 'ClusterRole', name: 'cleaner' } },
};
const holders = {
  kind: 'WhoCan',
  items: [row, row, wide],
  mayBecome: [
    { ...row, subject: { kind: 'Group', name: 'devs' }, way: 'CreatePod', becomes: [wide.subject] },
    { ...row, subject: { kind: 'User', name: 'eve' }, way: 'Bind', becomes: [] },
  ],
  unrestricted: [{ kind: 'Group', name: 'system:masters' }],
  incomplete: [{ cluster: 'm3', reason: 'NotReadable', message: 'you may not list all its roles' }],
};

describe('who-can and what-can', () => {
  let stub: StubGateway;
  const folder = makeFolder();
  let flags: WhoCanFlags & WhatCanFlags;
  let answer: object;

  before(async () => {
    const authority = await makeTestAuthority();
    stub = await startStub(authority);
    const certificateAuthority = folder.write('ca.crt', authority.ca);
    flags = { server: stub.url, token: 'good-token', certificateAuthority, output: 'table' };
  });
  beforeEach(() => {
    stub.requests.length = 0;
    answer = holders;
    stub.answers.override = (_, response) => sendJson(response, 200, answer);
  });
  after(async () => {
    await stub.close();
  });

  const who = async (verb: string, what: string, more: Partial<WhoCanFlags> = {}, name?: string) => {
    const terminal = recordingTerminal();
    await whoCan({ verb, what, name }, { ...flags, ...more }, terminal);
    return terminal;
  };
  const what = async (user?: string, more: Partial<WhatCanFlags> = {}) => {
    const terminal = recordingTerminal();
    await whatCan(user, { ...flags, ...more }, terminal);
    return terminal;
  };
  const asked = (): string => stub.requests.at(-1)!.line.replace(/^.*indexes\/default\//, '');

  test('each subject, binding and cluster is one line, and what the answer lacks is told beside it', async () => {
    const terminal = await who('delete', 'secrets');
    assert.equal(
      terminal.printed(),
      [
        'CLUSTER   SUBJECT                    NAMESPACE   BINDING                     ROLE',
        'm1        User/jane                  shop        RoleBinding/cleaners        ClusterRole/cleaner',
        'm2        ServiceAccount/ops/robot   *           ClusterRoleBinding/robots   ClusterRole/cleaner',
        '',
      ].join('\n'),
    );
    assert.equal(
      terminal.noted(),
      'Members of the group system:masters may do everything, whatever roles say\n' +
        'Incomplete: m3: you may not list all its roles\n',
    );
  });

  test('who could come to the right is a table of its own, with the way', async () => {
    const lines = (await who('delete', 'secrets', { mayBecome: true })).printed().split('\n');
    assert.match(asked(), /mayBecome=true/);
    assert.deepEqual(
      lines.slice(4, 7).map((line) => line.split(/ {3,}/)),
      [
        ['CLUSTER', 'SUBJECT', 'NAMESPACE', 'COULD', 'AS', 'BINDING'],
        ['m1', 'Group/devs', 'shop', 'CreatePod', 'ServiceAccount/ops/robot', 'RoleBinding/cleaners'],
        ['m1', 'User/eve', 'shop', 'Bind', 'RoleBinding/cleaners'],
      ],
    );
  });

  test('words become the group, resource, subresource, name and namespace of a request', async () => {
    const expected: readonly (readonly [readonly string[], Partial<WhoCanFlags>, string])[] = [
      [['delete', 'secrets'], { allNamespaces: true }, 'whocan?verb=delete&resource=secrets&group=&subresource='],
      [['get', 'deployments', 'web'], {}, 'whocan?verb=get&resource=deployments&group=apps&subresource=&name=web'],
      [
        ['create', 'pods/exec'],
        { namespace: 'shop', clusters: 'm1,m2' },
        'whocan?verb=create&group=&resource=pods&subresource=exec&namespace=shop&clusters=m1,m2',
      ],
      [
        ['get', '/livez'],
        { clusterSelector: 'env in (prod)' },
        'whocan?verb=get&path=/livez&clusterSelector=env+in+(prod)',
      ],
      [
        ['get', 'certificates.cert-manager.io/status'],
        {},
        'whocan?verb=get&group=cert-manager.io&resource=certificates&subresource=status',
      ],
      [['get', '/metrics'], {}, 'whocan?verb=get&path=/metrics'],
    ];
    const sorted = (text: string): readonly string[] => decodeURIComponent(text).split(/[?&]/).toSorted();
    for (const [[verb = '', resource = '', name], more, query] of expected) {
      await who(verb, resource, more, name);
      assert.deepEqual(sorted(asked()), sorted(query));
    }
  });

  test('a resource whose group nobody can guess is refused before anything is asked', async () => {
    await assert.rejects(who('get', 'certificates'), (error: Failure) => {
      assert.equal(error.exitCode, 2);
      assert.match(error.nextStep, /certificates\.cert-manager\.io/);
      return true;
    });
    assert.equal(stub.requests.length, 0);
  });

  test('flags that exclude each other are refused', async () => {
    const usage = { name: 'Failure', exitCode: 2 };
    await assert.rejects(who('get', 'pods', { namespace: 'shop', allNamespaces: true }), usage);
    await assert.rejects(who('get', '/metrics', { namespace: 'shop' }), usage);
    await assert.rejects(what(undefined, { group: ['devs'] }), usage);
    assert.equal(stub.requests.length, 0);
  });

  test('json is the answer as it came, with nothing beside it', async () => {
    const terminal = await who('delete', 'secrets', { output: 'json' });
    assert.deepEqual(JSON.parse(terminal.printed()), holders);
    assert.equal(terminal.noted(), '');
  });

  test('nobody: standard output stays empty for scripts', async () => {
    answer = { items: [], unrestricted: [], incomplete: [] };
    const terminal = await who('delete', 'secrets');
    assert.deepEqual(
      [terminal.printed(), terminal.noted()],
      ['', 'Nobody, by the roles and bindings that you may read\n'],
    );
  });

  test('what somebody may do is one line a rule, resources with their groups', async () => {
    answer = { kind: 'WhatCan', items: [row, wide], unrestrictedIn: ['m4'], incomplete: [] };
    const terminal = await what('jane', { group: ['devs', 'oncall'] });
    assert.equal(asked(), 'whatcan?user=jane&groups=devs&groups=oncall');
    assert.deepEqual(terminal.printed().split('\n')[1]?.split(/ {3,}/), [
      'm1',
      'shop',
      'get,delete',
      'secrets,secrets.apps,deployments/scale,deployments.apps/scale',
      'ClusterRole/cleaner',
    ]);
    assert.match(terminal.printed(), / {3}a {3,}ClusterRole\/cleaner\n$/);
    assert.equal(terminal.noted(), 'May do everything, as a member of system:masters, in: m4\n');
  });

  test('that groups of a user were not given is told with the flag that gives them', async () => {
    const message = 'add them (groups=)';
    answer = { kind: 'WhatCan', items: [row], unrestrictedIn: [], incomplete: [{ reason: 'GroupsUnknown', message }] };
    const terminal = await what('jane');
    assert.equal(asked(), 'whatcan?user=jane');
    assert.match(terminal.noted(), /^Incomplete: groups of this user were not given.* --group/);
    await what('jane', { group: [''] });
    assert.equal(asked(), 'whatcan?user=jane&groups=');
  });

  test('escape sequences in names of a cluster’s objects do not reach the terminal', async () => {
    const evil = { ...row, cluster: '\u001b[2Jm1', subject: { kind: 'User', name: '\u001b[31mjane' } };
    answer = { items: [evil], unrestricted: [], incomplete: [{ cluster: '\u001b[2Jm1', message: 'x' }] };
    const terminal = await who('delete', 'secrets');
    assert.doesNotMatch(terminal.printed() + terminal.noted(), /\u001b/);
  });

  test('what the gateway says of a bad question is what the person reads', async () => {
    stub.answers.override = (_, response) => sendStatus(response, 400, 'BadRequest', 'verb= is missing');
    await assert.rejects(who('', 'pods'), { name: 'Failure', message: 'verb= is missing' });
  });
});
