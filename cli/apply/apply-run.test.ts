import assert from 'node:assert/strict';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { after, before, beforeEach, describe, test } from 'node:test';
import { Failure } from '../terminal/failure.ts';
import { makeFolder, recordingTerminal, startStub } from '../stub-gateway.fixture.ts';
import type { StubGateway } from '../stub-gateway.fixture.ts';
import type { ApplyFlags } from './apply-flags.ts';
import { apply } from './apply-run.ts';
import { deleteSets } from './delete-run.ts';
import { serveClusters } from './many-clusters.fixture.ts';
import type { ManyClusters } from './many-clusters.fixture.ts';
import { makeTestAuthority } from '../../test/pretend/certificates.ts';
import { sendJson, sendStatus } from '../../test/pretend/server.ts';

const limits = { timeoutMs: 10_000, firstPauseMs: 1 };

interface Outcome {
  readonly printed: string;
  readonly noted: string;
  readonly failure: Failure | undefined;
}

describe('portcullis apply', () => {
  let stub: StubGateway;
  const folder = makeFolder();
  let clusters: ManyClusters;
  let caFile: string;
  const names = Array.from({ length: 12 }, (_, i) => `c${String(i).padStart(2, '0')}`);

  before(async () => {
    const authority = await makeTestAuthority();
    stub = await startStub(authority);
    caFile = folder.write('ca.crt', authority.ca);
    folder.write('two.yaml', configMaps('one', 'two'));
  });
  beforeEach(() => void (clusters = serveClusters(stub, names)));
  after(async () => {
    await stub.close();
  });

  const run = async (
    flags: Partial<ApplyFlags>,
    stopping: AbortSignal = new AbortController().signal,
  ): Promise<Outcome> => {
    const terminal = recordingTerminal({ env: { XDG_STATE_HOME: folder.path } });
    const all: ApplyFlags = {
      ...{ server: stub.url, token: 'good-token', certificateAuthority: caFile, allClusters: true },
      ...{ parallel: 4, output: 'table', timeout: 1000, filename: [join(folder.path, 'two.yaml')], namespace: 'shop' },
      ...flags,
    };
    const failure = await apply(all, { terminal, stopping, limits }).then(
      () => undefined,
      (error: unknown) => {
        if (error instanceof Failure) return error;
        throw error;
      },
    );
    return { printed: terminal.printed(), noted: terminal.noted(), failure };
  };
  const busy = (response: ServerResponse): true => {
    sendStatus(response, 503, 'ServiceUnavailable', 'cluster cannot be reached');
    return true;
  };

  test('objects that name no namespace come into that of -n, and are counted for each cluster', async () => {
    const { printed, noted, failure } = await run({ clusters: 'c01,c03', allClusters: false });
    assert.equal(failure, undefined);
    assert.equal(printed, 'CLUSTER   STATUS   OBJECTS\nc01       done     2 created\nc03       done     2 created\n');
    assert.match(noted, /^c03: configmap\/one serverside-applied \(created\)$/m);
    assert.deepEqual(
      [...clusters.objects.keys()].filter((key) => key.startsWith('c01')),
      ['c01 /api/v1/namespaces/shop/configmaps/one', 'c01 /api/v1/namespaces/shop/configmaps/two'],
    );
  });

  test('a cluster that says when to come again is not asked before', async () => {
    const askedMs: number[] = [];
    clusters.intercept = (cluster, _request, response) => {
      if (cluster !== 'c05') return false;
      askedMs.push(performance.now());
      if (askedMs.length === 1) response.setHeader('Retry-After', '1');
      return askedMs.length === 1 && busy(response);
    };
    const { failure } = await run({ clusters: 'c05', allClusters: false });
    assert.equal(failure, undefined);
    assert.ok(askedMs[1]! - askedMs[0]! >= 990, `asked again after ${askedMs[1]! - askedMs[0]!} ms`);
  });

  test('a cluster that is busy for a moment is asked again, a dead one is given up alone', async () => {
    let refusals = 0;
    clusters.intercept = (cluster, request, response) => {
      if (cluster === 'c02') return busy(response);
      const isFirst = cluster === 'c05' && request.method === 'PATCH' && refusals++ < 2;
      return isFirst && busy(response);
    };
    const { printed, noted, failure } = await run({});
    assert.match(failure?.message ?? '', /^1 of 12 clusters failed: c02$/);
    assert.match(noted, /^c02: failed: cluster cannot be reached \(503\); 2 objects were not tried$/m);
    assert.match(printed, /^c05 +done +2 created$/m);
    assert.equal(clusters.requests.filter((line) => line.startsWith('c02')).length, 6);
  });

  test('answers without sense cost their own cluster only', async () => {
    clusters.intercept = (cluster, request, response) => {
      if (cluster !== 'c00' || request.method !== 'PATCH') return false;
      response.writeHead(200).end('<html>');
      return true;
    };
    const { printed, noted } = await run({});
    assert.match(noted, /^c00: failed: its answers make no sense: .*; 2 objects were not tried$/m);
    assert.match(printed, /^c11 +done +2 created$/m);
  });

  test('no further cluster is begun after more than --max-unavailable have failed', async () => {
    clusters.intercept = (_cluster, _request, response) => busy(response);
    const flags = { parallel: 1, maxUnavailable: '10%' };
    const { printed, failure } = await run(flags);
    assert.match(failure?.message ?? '', /^2 of 12 clusters failed: c00, c01; 10 were not begun/);
    assert.match(printed, /^c02 +not started +-$/m);
    assert.ok(clusters.requests.every((line) => /^c0[01] /.test(line)));
  });

  test('what a controller writes between the read and the apply is not taken for our change', async () => {
    const own = (time: string): object => ({ manager: 'portcullis', operation: 'Apply', time });
    const controller = { manager: 'controller', operation: 'Update', time: '2026-01-01T00:00:09Z' };
    clusters.intercept = (_cluster, request, response) => {
      if (!request.url?.includes('/configmaps/')) return false;
      const isAfter = request.method === 'PATCH';
      // Of the object "two", our own entry is another one after the apply.
      const ours = own(isAfter && request.url.includes('/two') ? '2026-01-01T00:00:09Z' : '2026-01-01T00:00:01Z');
      const managedFields = isAfter ? [ours, controller] : [ours];
      sendJson(response, 200, { metadata: { resourceVersion: isAfter ? '2' : '1', managedFields } });
      return true;
    };
    const { printed } = await run({ clusters: 'c01', allClusters: false });
    assert.match(printed, /^c01 +done +1 configured, 1 unchanged$/m);
  });

  test('a kind that a cluster does not serve is named, and the other objects are applied', async () => {
    const widget = 'apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w}\n';
    const file = folder.write('widget.yaml', `${widget}---\n${configMaps('one')}`);
    const { noted, printed } = await run({ filename: [file], clusters: 'c07', allClusters: false });
    assert.match(noted, /^c07: widget\.example\.com\/w: the cluster does not serve Widget of example\.com\/v1/m);
    assert.match(printed, /^c07 +failed +1 created, 1 failed$/m);
  });

  test('what a cluster says about a Secret is shown without its values', async () => {
    const file = folder.write(
      'secret.yaml',
      'apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {p: swordfish}\n',
    );
    clusters.intercept = (_cluster, request, response) => {
      if (request.method !== 'PATCH') return false;
      sendStatus(response, 400, 'BadRequest', 'data[p]: c3dvcmRmaXNo (swordfish) is not wanted');
      return true;
    };
    const { noted } = await run({ filename: [file], clusters: 'c07', allClusters: false });
    assert.match(noted, /^c07: secret\/s: data\[p\]: \*\*\* \(\*\*\*\) is not wanted \(400\)$/m);
  });

  test('an object of another set is not taken away from it, with or without a set', async () => {
    await run({ clusters: 'c01', allClusters: false, set: 'first' });
    const second = await run({ clusters: 'c01', allClusters: false, set: 'second' });
    assert.match(second.noted, /^c01: configmap\/one: belongs to another set; leave the object out/m);
    const none = await run({ clusters: 'c01', allClusters: false });
    assert.match(none.noted, /^c01: configmap\/one: belongs to a set; give its --set NAME/m);
  });

  test('nothing is pruned in a cluster where something failed', async () => {
    await run({ clusters: 'c01', allClusters: false, set: 'web' });
    const file = folder.write('one.yaml', configMaps('one'));
    const flags = { filename: [file], clusters: 'c01', allClusters: false, set: 'web', prune: true };
    clusters.intercept = (_cluster, request, response) => {
      if (request.method !== 'PATCH' || !request.url?.includes('/configmaps/')) return false;
      sendStatus(response, 403, 'Forbidden', 'no');
      return true;
    };
    const { noted } = await run(flags);
    assert.match(noted, /^c01: failed: 1 of 1 objects failed; not pruned; 1 failed$/m);
    assert.ok(clusters.objects.has('c01 /api/v1/namespaces/shop/configmaps/two'));
    clusters.intercept = () => false;
    assert.match((await run(flags)).noted, /^c01: configmap\/two pruned$/m);
    assert.ok(!clusters.objects.has('c01 /api/v1/namespaces/shop/configmaps/two'));
  });

  test('more than half of a set is pruned only when that is allowed, and then only by UID', async () => {
    const one = { clusters: 'c01', allClusters: false, set: 'web' };
    const files = ['a', 'b', 'c'].map((name) => folder.write(`${name}.yaml`, configMaps(name)));
    await run({ ...one, filename: files });
    const flags = { ...one, filename: files.slice(0, 1), prune: true };
    const path = 'c01 /api/v1/namespaces/shop/configmaps';
    const { noted, failure } = await run(flags);
    assert.match(noted, /^c01: failed: not pruned: 2 of 3 objects left the set; .*--allow-large-prune; 1 unchanged$/m);
    assert.equal(failure?.exitCode, 1);
    assert.ok(clusters.objects.has(`${path}/b`));

    const dry = await run({ ...flags, dryRun: true, allowLargePrune: true });
    assert.match(dry.noted, /^c01: configmap\/b pruned \(server dry run\)$/m);
    clusters.requests.length = 0;
    await run({ ...flags, allowLargePrune: true });
    assert.deepEqual(
      clusters.requests.filter((line) => line.includes('DELETE')),
      [`c01 DELETE /api/v1/namespaces/shop/configmaps/c`, `c01 DELETE /api/v1/namespaces/shop/configmaps/b`],
    );
    assert.deepEqual([clusters.objects.has(`${path}/a`), clusters.objects.has(`${path}/b`)], [true, false]);
  });

  test('delete takes the members and then the parent; a cluster without the set is done', async () => {
    await run({ clusters: 'c01', allClusters: false, set: 'web' });
    const terminal = recordingTerminal();
    const flags = { server: stub.url, token: 'good-token', certificateAuthority: caFile, clusters: 'c01,c02' };
    const stopping = new AbortController().signal;
    const all = { ...flags, set: 'web', namespace: 'shop', parallel: 2, output: 'table' } as const;
    await deleteSets(all, { terminal, stopping, limits });
    assert.equal(
      terminal.printed(),
      'CLUSTER   STATUS   OBJECTS\nc01       done     2 deleted\nc02       done     -\n',
    );
    assert.equal(clusters.objects.size, 0);
    assert.match(
      clusters.requests.findLast((line) => line.includes('DELETE'))!,
      /secrets\/web$/,
    );
  });

  test('a stopped run finishes what is under way, and goes on where it was', async () => {
    const file = folder.write('many.yaml', configMaps(...Array.from({ length: 30 }, (_, i) => `m${i}`)));
    const stop = new AbortController();
    clusters.intercept = (cluster, request) => {
      if (cluster === 'c01' && request.method === 'PATCH' && request.url?.includes('/m25?')) stop.abort();
      return false;
    };
    const flags = { filename: [file], parallel: 1 };
    const stopped = await run(flags, stop.signal);
    assert.match(stopped.failure?.message ?? '', /^stopped: 11 of 12 clusters are not done$/);
    assert.match(stopped.noted, /^c01: stopped; 26 created$/m);
    const states = join(folder.path, 'portcullis', 'apply');
    const kept = readdirSync(states).map((name) => readFileSync(join(states, name), 'utf8'));
    assert.ok(kept.some((text) => text.includes('"c01":{"uid":"uid-c01-1","applied":26,"done":false}')));
    clusters.intercept = () => false;
    clusters.requests.length = 0;
    const resumed = await run({ ...flags, resume: true });
    assert.match(resumed.printed, /^c00 +skipped +-$/m);
    assert.match(resumed.printed, /^c01 +done +4 created, 26 applied before$/m);
    assert.ok(!clusters.requests.some((line) => line.startsWith('c00')));
    assert.ok(!existsSync(states) || readdirSync(states).length < kept.length, 'nothing is left to resume');
  });

  test('what is remembered does not count for other manifests, nor for another cluster of the same name', async () => {
    const file = folder.write('few.yaml', configMaps('a'));
    const flags = { filename: [file], parallel: 1 };
    const stopAtSecond = async (): Promise<void> => {
      const stop = new AbortController();
      clusters.intercept = (cluster) => {
        if (cluster === 'c01') stop.abort();
        return false;
      };
      await run(flags, stop.signal);
      clusters.intercept = () => false;
    };
    await stopAtSecond();
    assert.match((await run({ ...flags, resume: true })).printed, /^c00 +skipped +-$/m);
    await stopAtSecond();
    clusters.life++;
    assert.match((await run({ ...flags, resume: true })).printed, /^c00 +done +1 unchanged$/m);
    await stopAtSecond();
    folder.write('few.yaml', configMaps('other'));
    assert.match((await run({ ...flags, resume: true })).printed, /^c00 +done +1 created$/m);
  });

  test('of 200 clusters never more than --parallel are worked on at a time', async () => {
    clusters = serveClusters(
      stub,
      Array.from({ length: 200 }, (_, i) => `n${i}`),
    );
    const { printed } = await run({ output: 'json', parallel: 7 });
    const report = JSON.parse(printed) as { clusters: { objects: object[] }[] };
    assert.deepEqual([report.clusters.length, report.clusters[199]?.objects.length], [200, 2]);
    const working = clusters.requests.map((line) => line.split(' ')[0]);
    const most = Math.max(
      ...working.map((_, at) => {
        const before = new Set(working.slice(0, at + 1));
        return new Set(working.slice(at).filter((name) => before.has(name))).size;
      }),
    );
    assert.equal(most, 7);
  });

  test('what cannot be right is said before anything is asked', async () => {
    const wrong: readonly (readonly [Partial<ApplyFlags>, RegExp])[] = [
      [{ allClusters: false }, /no cluster is chosen/],
      [{ clusters: 'a' }, /exclude each other/],
      [{ prune: true }, /--prune needs to know/],
      [{ diff: true, output: 'json' }, /exclude each other/],
      [{ dryRun: true, resume: true }, /nothing to resume/],
      [{ filename: [] }, /either -f or -k/],
      [{ filename: [join(folder.path, 'absent')] }, /cannot read .*absent: ENOENT/],
      [{ filename: ['https://example.com/x.yaml'] }, /cannot read https/],
    ];
    for (const [flags, message] of wrong) {
      const { failure } = await run(flags);
      assert.match(failure?.message ?? '', message);
      assert.equal(failure?.exitCode, 2);
    }
    assert.deepEqual(clusters.requests, []);
    const { failure } = await run({ clusters: 'c01,nowhere', allClusters: false });
    assert.deepEqual([failure?.message, failure?.exitCode], ['no cluster "nowhere" that you may see', 1]);
  });
});

function configMaps(...names: readonly string[]): string {
  return names
    .map((name) => `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}}\ndata: {a: b}\n`)
    .join('---\n');
}
