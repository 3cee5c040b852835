import assert from 'node:assert/strict';
import { rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { ConfigurationError } from '../../../lib/configuration-error.ts';
import { testKeyPair } from '../../../test/pretend/certificates.ts';
import type { Credential } from '../../../model/records.ts';
import { createClusterStore } from '../../../model/store.ts';
import { startKubeconfigSource, type KubeconfigSourceOptions } from './kubeconfig.ts';
import { tempDir } from '../../../test/pretend/temp-dir.ts';

interface Written {
  readonly clusters?: Readonly<Record<string, object>>;
  readonly users?: Readonly<Record<string, object>>;
  readonly contexts: Readonly<Record<string, readonly [cluster: string, user: string]>>;
}

/** The text of a kubeconfig; clusters without fields are at `https://<name>`. */
function kubeconfig({ clusters = {}, users = {}, contexts }: Written): string {
  return JSON.stringify({
    kind: 'Config',
    clusters: Object.entries(clusters).map(([name, cluster]) => ({
      name,
      cluster: { server: `https://${name}`, ...cluster },
    })),
    users: Object.entries(users).map(([name, user]) => ({ name, user })),
    contexts: Object.entries(contexts).map(([name, [cluster, user]]) => ({ name, context: { cluster, user } })),
  });
}

/** A folder to write files into, and a way to start the source on some of them; the watch is off unless asked for. */
async function scene(t: TestContext) {
  const folder = tempDir('kubeconfig');
  const store = createClusterStore();
  const reported: string[] = [];
  const events: string[] = [];
  store.subscribe(({ type, record }) => void events.push(`${type} ${record.spec.name}`));
  const at = (name: string): string => join(folder, name);
  return {
    store,
    reported,
    events,
    at,
    write: (name: string, text: string) => writeFile(at(name), text),
    async start(names: readonly string[], options: Partial<KubeconfigSourceOptions> = {}) {
      const source = await startKubeconfigSource({
        files: names.map(at),
        store,
        watch: { notices: false, pollMs: 3_600_000 },
        onProblem: ({ message, stale }) =>
          void reported.push(`problem${stale ? ' stale' : ''}: ${message.replaceAll(folder, '')}`),
        onRecovered: ({ message }) => void reported.push(`recovered: ${message.replaceAll(folder, '')}`),
        ...options,
      });
      t.after(() => source.close());
      return source;
    },
    credential(name: string): Credential {
      const credential = store.get(name)?.spec.credential?.current();
      assert.ok(credential !== undefined && !(credential instanceof Promise));
      return credential;
    },
  };
}

test('the first context of a name keeps it, changed names give way to it, later ones are conflicts, stale ones have a problem', async (t) => {
  const { store, reported, write, start } = await scene(t);
  await write(
    'one',
    kubeconfig({ clusters: { a: {} }, contexts: { Prod: ['a', ''], 'PROD!': ['a', ''], stale: ['gone', ''] } }),
  );
  await write('two', kubeconfig({ clusters: { b: {} }, contexts: { prod: ['b', ''], other: ['b', ''] } }));
  await write('three', kubeconfig({ clusters: { c: {} }, contexts: { prod: ['c', ''] } }));
  const source = await start(['one', 'two', 'one', 'three']);
  const listed = store
    .list()
    .map(({ spec }) => [spec.name, spec.originalName, spec.endpoint?.host, spec.problem?.reason]);
  assert.deepEqual(listed, [
    ['other', 'other', 'b', undefined],
    ['prod', 'prod', 'b', undefined],
    ['prod-5anq8bsih6', 'PROD!', 'a', undefined],
    ['prod-conflict-2', 'prod', 'c', 'NameConflict'],
    ['prod-jsut4t1muw', 'Prod', 'a', undefined],
    ['stale', 'stale', undefined, 'InvalidConfiguration'],
  ]);
  assert.deepEqual(reported, ['problem: /one: context "stale": the cluster "gone" is not in this file']);
  assert.equal(source.problems().length, 1);
});

test('contexts that agree in their first 63 characters are all usable, and the order of the file names none of them (ATT-60)', async (t) => {
  const { store, events, write, start } = await scene(t);
  const arn = (name: string): string => `arn:aws:eks:ap-southeast-2:123456789012:cluster/platform-production-${name}`;
  const names = [arn('green'), arn('blue'), 'gke_acme_eu_main', 'gke_acme_eu-main', '生产', '测试', 'lone_one'];
  const written = (some: readonly string[]): string =>
    kubeconfig({ clusters: { a: {} }, contexts: Object.fromEntries(some.map((name) => [name, ['a', '']])) });
  await write('k', written(names));
  const source = await start(['k']);
  const listed = store.list();
  assert.deepEqual(new Set(listed.map(({ spec }) => spec.originalName)), new Set(names));
  assert.ok(listed.every(({ spec }) => spec.problem === undefined && spec.name.length <= 63));
  assert.equal(store.get('lone-one')?.spec.originalName, 'lone_one');
  events.length = 0;
  // As `kubectl config use-context` writes it, which sorts.
  await write('k', written(names.toSorted()));
  await source.reload();
  assert.deepEqual(events, []);
  const again = await scene(t);
  await again.write('k', written(names.toSorted()));
  await again.start(['k']);
  const pairs = (all: typeof listed) => all.map(({ spec }) => [spec.name, spec.originalName]);
  assert.deepEqual(pairs(again.store.list()), pairs(listed));
});

test('start-up refuses files it cannot read or parse, with all faults of all files', async (t) => {
  const { store, at, write, start } = await scene(t);
  await write('good', kubeconfig({ clusters: { a: {} }, contexts: { a: ['a', ''] } }));
  await write('syntax', 'users:\n- name: "u" x');
  await write('schema', 'contexts: 1\nclusters: 2');
  await write('binary', '');
  await writeFile(at('binary'), Buffer.from([0xff, 0xfe, 0x00]));
  await assert.rejects(start(['good', 'syntax', 'schema', 'missing', 'binary']), (error) => {
    assert.ok(error instanceof ConfigurationError);
    const lines = error.message.split('\n').map((line) => line.replace(at('/'), ''));
    assert.deepEqual(lines.slice(1), [
      'schema:2:11: clusters: must be a list',
      'schema:1:11: contexts: must be a list',
      'missing: no such file',
      'binary: is not UTF-8 text',
    ]);
    assert.match(lines[0] ?? '', /^syntax:2:13: Unexpected/);
    return true;
  });
  assert.deepEqual(store.list(), [], 'not even the good file is half applied');
});

test('a reload adds and removes, and what did not change keeps its very record', async (t) => {
  const { store, events, write, start } = await scene(t);
  const users = { u: { token: 't' } };
  const clusters = { a: {}, b: {}, c: {} };
  await write('k', kubeconfig({ clusters, users, contexts: { a: ['a', 'u'], b: ['b', 'u'] } }));
  const source = await start(['k']);
  const before = store.get('a');
  events.length = 0;
  await write('k', kubeconfig({ clusters, users, contexts: { c: ['c', 'u'], a: ['a', 'u'] } }));
  await source.reload();
  assert.deepEqual(events, ['DELETED b', 'ADDED c']);
  assert.equal(store.get('a'), before);
  assert.equal(store.get('a')?.spec.credential, before?.spec.credential);
});

test('a bad edit keeps the last good state, is reported once, and recovers', async (t) => {
  const { store, reported, events, write, start } = await scene(t);
  const good = kubeconfig({
    clusters: { a: {} },
    users: { u: { token: 'SECRETsecret' } },
    contexts: { a: ['a', 'u'], b: ['a', 'u'] },
  });
  await write('k', good);
  const source = await start(['k']);
  const before = store.list();
  events.length = 0;
  for (const bad of [good.slice(0, -20), good.slice(0, 60), '', 'token: SECRETsecret: x']) {
    await write('k', bad);
    await source.reload();
    await source.reload();
    assert.equal(store.list(), before);
    assert.equal(
      reported.filter((line) => line.startsWith('problem stale: /k')).length,
      1,
      'once, however often it is read',
    );
    assert.equal(source.problems().length, reported.filter((line) => line.startsWith('problem')).length);
    await write('k', good);
    await source.reload();
    assert.deepEqual(source.problems(), []);
    assert.doesNotMatch(reported.join('\n'), /SECRET/);
    reported.length = 0;
  }
  await rm(join(store.get('a')?.spec.sourceDetail.split(' context')[0] ?? ''));
  await source.reload();
  assert.equal(store.list(), before);
  assert.deepEqual(reported, ['problem stale: /k: no such file']);
  assert.deepEqual(events, []);
});

test('one broken context of a good file keeps its last good state too, until it is deleted', async (t) => {
  const { store, reported, events, write, start } = await scene(t);
  const clusters = { a: {}, b: {} };
  const contexts = { a: ['a', 'u'], b: ['b', ''] } as const;
  await write('k', kubeconfig({ clusters, users: { u: { token: 't' } }, contexts }));
  const source = await start(['k']);
  const before = store.get('a');
  events.length = 0;
  await write('k', kubeconfig({ clusters, contexts }));
  await source.reload();
  assert.equal(store.get('a'), before);
  assert.deepEqual(reported, ['problem stale: /k: context "a": the user "u" is not in this file']);
  await write('k', kubeconfig({ clusters, contexts: { b: ['b', ''] } }));
  await source.reload();
  assert.deepEqual(events, ['DELETED a']);
  assert.deepEqual(reported.slice(1), ['recovered: /k: context "a": the user "u" is not in this file']);
});

test('a rotated token file is in the next record, connections are kept, and a missing file keeps the last token', async (t) => {
  const { store, reported, events, at, write, start, credential } = await scene(t);
  await write('tok', 'one\n');
  await write(
    'k',
    kubeconfig({
      clusters: { a: {} },
      users: { u: { tokenFile: 'tok', token: 'inline' } },
      contexts: { a: ['a', 'u'] },
    }),
  );
  const source = await start(['k']);
  const before = store.get('a');
  assert.equal(credential('a').authorization, 'Bearer one');
  await write('tok', 'two\n');
  await source.reload();
  const after = store.get('a');
  assert.equal(credential('a').authorization, 'Bearer two');
  assert.equal(
    (await before?.spec.credential?.current())?.authorization,
    'Bearer one',
    'a request under way keeps its record',
  );
  assert.equal(after?.spec.uid, before?.spec.uid);
  assert.equal(after?.spec.transportKey, before?.spec.transportKey);
  for (const [break_, reason] of [
    [() => rm(at('tok')), /no such file/],
    [() => write('tok', ' \n'), /is empty/],
  ] as const) {
    await break_();
    await source.reload();
    assert.equal(store.get('a'), after);
    assert.match(reported.at(-1) ?? '', reason);
  }
  await write('tok', 'three\n');
  await source.reload();
  assert.equal(credential('a').authorization, 'Bearer three');
  assert.deepEqual(events, ['ADDED a', 'MODIFIED a', 'MODIFIED a']);
  assert.deepEqual(source.problems(), []);
});

test('a client certificate rotated by two renames is taken when both halves fit, never in between', async (t) => {
  const { store, reported, at, write, start, credential } = await scene(t);
  const [one, two] = [await testKeyPair('one'), await testKeyPair('two')];
  await write('c.pem', one.cert);
  await write('k.pem', one.key);
  const user = { 'client-certificate': 'c.pem', 'client-key': 'k.pem' };
  await write('k', kubeconfig({ clusters: { a: {} }, users: { u: user }, contexts: { a: ['a', 'u'] } }));
  const source = await start(['k']);
  const before = store.get('a');
  await write('new', two.cert);
  await rename(at('new'), at('c.pem'));
  await source.reload();
  assert.equal(store.get('a'), before);
  assert.match(reported.at(-1) ?? '', /^problem stale: .*key belongs to another certificate/);
  await write('new', two.key);
  await rename(at('new'), at('k.pem'));
  await source.reload();
  assert.deepEqual(credential('a').clientCertificate, two);
  assert.notEqual(store.get('a')?.spec.transportKey, before?.spec.transportKey);
  assert.equal(store.get('a')?.spec.uid, before?.spec.uid);
  assert.match(reported.at(-1) ?? '', /^recovered/);
});

test('a context that could not be used at start works once its file is there', async (t) => {
  const { store, write, start, credential } = await scene(t);
  await write(
    'k',
    kubeconfig({ clusters: { a: {} }, users: { u: { tokenFile: 'later' } }, contexts: { a: ['a', 'u'] } }),
  );
  const source = await start(['k']);
  assert.match(store.get('a')?.spec.problem?.message ?? '', /later: no such file/);
  assert.equal(store.get('a')?.spec.credential, undefined);
  await write('later', 't');
  await source.reload();
  assert.equal(store.get('a')?.spec.problem, undefined);
  assert.equal(credential('a').authorization, 'Bearer t');
});

test('contexts of one user share the credential of its plugin, and it survives edits elsewhere', async (t) => {
  const { store, write, start } = await scene(t);
  let runs = 0;
  const run: NonNullable<KubeconfigSourceOptions['exec']>['run'] = async ({ args }) => {
    runs += 1;
    const status = { token: `${args.join('')}${runs}` };
    const stdout = JSON.stringify({ apiVersion: 'client.authentication.k8s.io/v1', kind: 'ExecCredential', status });
    return { kind: 'exited', code: 0, stdout, stderr: '' };
  };
  const exec = (arg: string) => ({
    exec: { apiVersion: 'client.authentication.k8s.io/v1', command: 'login', args: [arg] },
  });
  const users = { u: exec('u'), v: exec('v') };
  const contexts = { a: ['a', 'u'], b: ['b', 'u'], c: ['c', 'v'] } as const;
  const clusters = { a: {}, b: {}, c: {} };
  await write('k', kubeconfig({ clusters, users, contexts }));
  const source = await start(['k'], { exec: { run, environment: {} } });
  const token = async (name: string) => (await store.get(name)?.spec.credential?.current())?.authorization;
  assert.equal(runs, 0, 'nothing runs before somebody asks');
  assert.deepEqual([await token('a'), await token('b'), await token('c')], ['Bearer u1', 'Bearer u1', 'Bearer v2']);
  await write(
    'k',
    kubeconfig({ clusters: { ...clusters, a: { 'tls-server-name': 'x' } }, users: { ...users, w: {} }, contexts }),
  );
  await source.reload();
  assert.equal(store.get('a')?.spec.tls.serverName, 'x');
  assert.deepEqual([await token('a'), await token('b'), await token('c')], ['Bearer u1', 'Bearer u1', 'Bearer v2']);
  await write('k', kubeconfig({ clusters, users: { ...users, u: exec('changed') }, contexts }));
  await source.reload();
  assert.equal(await token('a'), 'Bearer changed3');
});

test(
  'changes on disk arrive by themselves: kubeconfig replaced by rename, token file, and a close ends it',
  { timeout: 20_000 },
  async (t) => {
    const { store, at, write, start, credential } = await scene(t);
    const users = { u: { tokenFile: 'tok' } };
    await write('tok', 'one');
    await write('k', kubeconfig({ clusters: { a: {} }, users, contexts: { a: ['a', 'u'] } }));
    const source = await start(['k'], { watch: { pollMs: 20, restMs: 10 } });
    const alive = setInterval(() => undefined, 1_000);
    t.after(() => clearInterval(alive));
    const changed = () => new Promise<void>((resolve) => void store.subscribe(() => resolve()));
    const rotated = changed();
    await write('tok', 'second');
    await rotated;
    assert.equal(credential('a').authorization, 'Bearer second');
    const renamed = changed();
    await write('new', kubeconfig({ clusters: { a: {}, b: {} }, users, contexts: { a: ['a', 'u'], b: ['b', 'u'] } }));
    await rename(at('new'), at('k'));
    await renamed;
    assert.equal(credential('b').authorization, 'Bearer second');
    source.close();
    const version = store.resourceVersion;
    await write('tok', 'after the end');
    await source.reload();
    assert.equal(store.resourceVersion, version);
  },
);

test('nothing a person may see or log of a record, problem or error holds a secret', async (t) => {
  const { store, reported, write, start } = await scene(t);
  const users = {
    u: { token: 'SECRETtoken' },
    v: { username: 'x', password: 'SECRETpassword' },
    bad: { token: 'SECRETtoken with space' },
    both: { token: 'SECRETtoken', username: 'SECRETname' },
  };
  const contexts = { a: ['a', 'u'], b: ['a', 'v'], c: ['a', 'bad'], d: ['a', 'both'] } as const;
  await write('k', kubeconfig({ clusters: { a: {} }, users, contexts }));
  const source = await start(['k']);
  assert.doesNotMatch(JSON.stringify([store.list(), reported, source.problems()]), /SECRET/);
});
