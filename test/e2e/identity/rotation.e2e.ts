// Clusters and credentials come, go and change under 200 requests a second, and clusters that stay notice nothing. What
// a member saw is proved by its audit log, request by request; an answer of 200 says nothing about the credential.
// Runs alone: changes come in the middle of a steady load.
import assert from 'node:assert/strict';
import { mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { TestContext as RunningTest } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';

import { http1Client, http2Client } from '../../clients/stream-client.ts';
import type { OpenAnswer, StreamClient } from '../../clients/stream-client.ts';
import { startControlPlane } from '../../controlplane/fixture.ts';
import type { ControlPlane, Member } from '../../controlplane/fixture.ts';
import { startGatewayProcess } from '../../gateway-process.ts';
import type { GatewayProcess } from '../../gateway-process.ts';
import { createAccount, createClientCertificate, deleteAccount } from './accounts.ts';
import { clusterAt, replaceFile, writeContexts } from '../kubectl/contexts.ts';
import type { TestContext } from '../kubectl/contexts.ts';
import { ask } from '../kubectl/kubectl-as.ts';
import { startLoad } from '../load.ts';
import type { LoadRecord } from '../load.ts';
import { eventually } from '../../site/polling.ts';

const carol = { token: 'carol-at-the-gateway', name: 'carol', groups: ['operators'] };
const requestsPerSecond = Number(process.env['ROTATION_RPS'] ?? 200);
/** A change must be in use by then. */
const settledMs = 1_000;
let plane: ControlPlane;
let member: Member;
let gateway: GatewayProcess;
let kubeconfig: string;
let folder: string;
const staying = ['inline', 'file', 'certificate', 'calm'];

before(async () => {
  plane = await startControlPlane({ members: ['m1', 'm2'] });
  member = plane.member('m1');
  folder = plane.dir;
  kubeconfig = join(folder, 'rotated.kubeconfig');
});

after(async () => {
  await gateway?.stop('SIGKILL');
  await plane?.stop();
});

/** All contexts but those left out; all but `calm` lead to m1. */
function contexts(inlineToken: string, ...without: readonly string[]): readonly TestContext[] {
  const calm = plane.member('m2');
  const cluster = clusterAt(member.url, member.caPem);
  const own = { token: member.gatewayToken };
  const all = [
    { name: 'inline', cluster, user: { token: inlineToken } },
    { name: 'file', cluster, user: { tokenFile: 'secret/token' } },
    { name: 'certificate', cluster, user: { 'client-certificate': 'gateway.crt', 'client-key': 'gateway.key' } },
    { name: 'calm', cluster: clusterAt(calm.url, calm.caPem), user: { token: calm.gatewayToken } },
    { name: 'going', cluster, user: own },
    { name: 'coming', cluster, user: own },
  ] as readonly TestContext[];
  return all.filter(({ name }) => !without.includes(name));
}

/** Puts a token where a Secret volume would: behind a link to a folder that is replaced as a whole. */
function mountToken(version: string, token: string): void {
  const volume = join(folder, 'secret');
  mkdirSync(join(volume, `..${version}`), { recursive: true });
  writeFileSync(join(volume, `..${version}`, 'token'), `${token}\n`);
  symlinkSync(`..${version}`, join(volume, '..data_next'));
  renameSync(join(volume, '..data_next'), join(volume, '..data'));
}

async function watchOf(client: StreamClient, cluster: string): Promise<OpenAnswer> {
  const path = `/clusters/${cluster}/proxy/api/v1/namespaces/default/configmaps?watch=true`;
  const answer = await client.get(path);
  assert.equal(answer.status, 200);
  return answer;
}

/** A watch whose cluster is gone, or is another one now, says so in its last event and is over. */
async function assertTold(watch: OpenAnswer): Promise<void> {
  assert.equal(await watch.ended, 'complete');
  const lines = watch.body().toString().trimEnd().split('\n');
  const { type, object } = JSON.parse(lines.at(-1)!) as {
    readonly type: string;
    readonly object: { readonly kind: string };
  };
  assert.deepEqual([type, object.kind], ['ERROR', 'Status']);
}

test('contexts and credentials rotate under load without a failure, and the new ones are in use after a second', async (t) => {
  const [inlineOld, inlineNew] = [await createAccount(member, 'inline-a'), await createAccount(member, 'inline-b')];
  const [fileOld, fileNew] = [await createAccount(member, 'file-a'), await createAccount(member, 'file-b')];
  const [pairOld, pairNew] = [
    await createClientCertificate(member, 'cert-a'),
    await createClientCertificate(member, 'cert-b'),
  ];
  mountToken('first', fileOld);
  symlinkSync(join('..data', 'token'), join(folder, 'secret', 'token'));
  replaceFile(join(folder, 'gateway.crt'), pairOld.certPem);
  replaceFile(join(folder, 'gateway.key'), pairOld.keyPem);
  writeContexts(kubeconfig, contexts(inlineOld, 'coming'));
  gateway = await startGatewayProcess({ kubeconfigs: [kubeconfig], users: [carol] });
  const server = { url: gateway.url, caPem: gateway.caPem, headers: { authorization: `Bearer ${carol.token}` } };
  const [http1, http2] = [http1Client(server), await http2Client(server)];
  const watches = await Promise.all([...staying.map((cluster) => watchOf(http1, cluster)), watchOf(http2, 'inline')]);
  const gone = [await watchOf(http1, 'going'), await watchOf(http2, 'going')];

  const mark = await member.auditMark();
  const load = await startLoad(server, staying, requestsPerSecond);
  await delay(2_000);
  const changes: { cluster: string; atMs: number; old: string; fresh: string }[] = [];
  const change = (cluster: string, old: string, fresh: string): void =>
    void changes.push({ cluster, atMs: performance.now(), old, fresh });

  writeContexts(kubeconfig, contexts(inlineNew, 'coming'));
  change('inline', 'system:serviceaccount:default:inline-a', 'system:serviceaccount:default:inline-b');
  await delay(settledMs);
  await deleteAccount(member, 'inline-a');

  mountToken('second', fileNew);
  change('file', 'system:serviceaccount:default:file-a', 'system:serviceaccount:default:file-b');
  await delay(settledMs);
  await deleteAccount(member, 'file-a');

  replaceFile(join(folder, 'gateway.crt'), pairNew.certPem);
  // Whoever writes two files leaves a moment in which they do not belong together.
  await delay(500);
  replaceFile(join(folder, 'gateway.key'), pairNew.keyPem);
  change('certificate', 'cert-a', 'cert-b');
  await delay(settledMs);

  writeContexts(kubeconfig, contexts(inlineNew, 'going'));
  await delay(settledMs);
  for (const answer of gone) await assertTold(answer);
  for (const [cluster, status] of [
    ['going', 404],
    ['coming', 200],
  ] as const) {
    const answer = await ask(gateway, carol.token, 'GET', `/clusters/${cluster}/proxy/api/v1/namespaces/default`);
    assert.equal(answer.status, status, cluster);
  }
  // The member believes the deleted accounts' tokens for 10 s; the load goes on beyond that.
  await delay(8_000);
  const records = await load.stop();

  assert.deepEqual(records.filter(({ outcome }) => outcome !== 200).slice(0, 5), []);
  const seconds = (records.at(-1)!.startedMs - records[0]!.startedMs) / 1000;
  assert.ok(records.length > requestsPerSecond * seconds * 0.95, `${records.length} requests in ${seconds} s`);
  t.diagnostic(`${records.length} requests in ${seconds.toFixed(1)} s, none failed`);
  await assertCredentials(t, records, changes, mark);

  const ticker = { metadata: { name: 'ticker' } };
  for (const { name } of [member, plane.member('m2')]) {
    const { status } = await plane.member(name).request('POST', '/api/v1/namespaces/default/configmaps', ticker);
    assert.equal(status, 201);
  }
  await Promise.all(watches.map((watch) => watch.until((body) => body.includes('"ticker"'))));
  http1.close();
  http2.close();
});

/**
 * Compares, request by request, the user in the member's audit log with the change the request came before or after.
 */
async function assertCredentials(
  t: RunningTest,
  records: readonly LoadRecord[],
  changes: readonly { cluster: string; atMs: number; old: string; fresh: string }[],
  mark: number,
): Promise<void> {
  const seen = new Map(
    (await member.audit(mark)).flatMap(({ requestURI, user }) => {
      const number = /[?]request=(\d+)$/.exec(requestURI)?.[1];
      return number === undefined ? [] : [[Number(number), user.username] as const];
    }),
  );
  for (const { cluster, atMs, old, fresh } of changes) {
    const mine = records.filter((record) => record.cluster === cluster);
    const early = mine.filter(({ startedMs, tookMs }) => startedMs + tookMs < atMs);
    // Where the machine is so busy that small requests take long, everything else takes longer as well.
    const during = mine.filter(({ startedMs }) => startedMs >= atMs && startedMs < atMs + settledMs);
    const allowedMs = settledMs + Math.max(...during.map(({ tookMs }) => tookMs));
    const late = mine.filter(({ startedMs }) => startedMs >= atMs + allowedMs);
    assert.ok(early.length > 20 && late.length > 100, `${cluster}: ${early.length} before, ${late.length} after`);
    assert.deepEqual([...new Set(early.map(({ number }) => seen.get(number)))], [old]);
    assert.deepEqual([...new Set(late.map(({ number }) => seen.get(number)))], [fresh]);
    const last = mine.findLast(({ number }) => seen.get(number) === old)!;
    t.diagnostic(
      `${cluster}: last used the old one ${Math.round(last.startedMs - atMs)} of ${Math.round(allowedMs)} ms`,
    );
  }
}

test('a cluster that was removed is gone from the list, and one whose address changed is another cluster', async () => {
  const uidOf = async (name: string): Promise<string | undefined> => {
    const answer = await ask(gateway, carol.token, 'GET', `/apis/gateway.portcullis.io/v1alpha1/clusters/${name}`);
    return answer.status === 404 ? undefined : (JSON.parse(answer.body.toString()) as Uid).metadata.uid;
  };
  assert.equal(await uidOf('going'), undefined);
  const before = await uidOf('calm');
  const moved = contexts(member.gatewayToken, 'going', 'coming').map((context) =>
    context.name === 'calm'
      ? ({
          ...context,
          cluster: clusterAt(member.url, member.caPem),
          user: { token: member.gatewayToken },
        } as TestContext)
      : context,
  );
  const client = http1Client({
    url: gateway.url,
    caPem: gateway.caPem,
    headers: { authorization: `Bearer ${carol.token}` },
  });
  const watch = await watchOf(client, 'calm');
  writeContexts(kubeconfig, moved);
  await assertTold(watch);
  await eventually('another uid', async () => (await uidOf('calm')) !== before);
  const mark = await member.auditMark();
  const path = '/api/v1/namespaces/default?moved=true';
  assert.equal((await ask(gateway, carol.token, 'GET', `/clusters/calm/proxy${path}`)).status, 200);
  await member.waitForAudit(({ requestURI }) => requestURI === path, { mark });
  client.close();
});

interface Uid {
  readonly metadata: { readonly uid: string };
}
