// Replicas over one PostgreSQL that do not know the same clusters, on real members. Clusters of one shard are followed
// by one replica, so a cluster that it does not know is followed by nobody, and whoever knows the cluster says so.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { stableUuid } from '../../../../cache/sources/kubeconfig/kubeconfig-cluster.ts';
import { shardOf } from '../../../../store/postgres/connection/shard.ts';
import { writeKubeconfig } from '../../../controlplane/kubeconfig.ts';
import type { GatewayProcess } from '../../../gateway-process.ts';
import { eventually } from '../../../site/polling.ts';
import { needsPostgres } from '../../../site/postgres.fixture.ts';
import { get, indexPath, listPath, put, startFleet, type Fleet } from '../churn/fleet-site.ts';

let fleet: Fleet;
before(async () => {
  if (needsPostgres.skip === false) fleet = await startFleet({ members: ['m1'], replicas: 0 });
});
after(() => fleet?.close());

/** Writes a kubeconfig of one member under several names of clusters. */
async function kubeconfig(file: string, names: readonly string[]): Promise<string> {
  const { url, caPem, gatewayToken } = fleet.plane.member('m1');
  const entries = names.map((name) => ({
    name,
    server: url,
    caPem,
    user: 'gateway',
    credential: { token: gatewayToken },
  }));
  return await writeKubeconfig(file, entries);
}

function shardOfContext(file: string, name: string): number {
  return shardOf(stableUuid([file, name, fleet.plane.member('m1').url]));
}

/** Names of clusters in a file that belong to a shard. */
function namesIn(shard: number, file: string, count: number): readonly string[] {
  const names: string[] = [];
  for (let i = 0; names.length < count; i += 1) if (shardOfContext(file, `n${i}`) === shard) names.push(`n${i}`);
  return names;
}

/** The warnings of a list and of a count of the cluster, joined. */
async function warnings(replica: GatewayProcess, cluster: string): Promise<string> {
  const paths = [listPath, `${listPath}?clusters=${cluster}`, `${indexPath}/counts?resource=configmaps`];
  const answers = await Promise.all(paths.map((path) => get(replica, path)));
  for (const { status, text } of answers) assert.equal(status, 200, text);
  const said = answers.map((answer) => answer.warnings.join());
  assert.equal(new Set(said.map((text) => text.includes(cluster))).size, 1, 'either all warn, or none does');
  return said[0]!;
}

test(
  'a cluster that the replica which owns its shard does not know has a warning in every answer of those that know it',
  needsPostgres,
  async () => {
    const { plane } = fleet;
    await put(plane, 'm1', 'one');
    const own = await kubeconfig(join(plane.dir, 'one.kubeconfig'), ['theirs']);
    const shard = shardOfContext(own, 'theirs');
    const knowing = [await fleet.start({ kubeconfigs: [own] }), await fleet.start({ kubeconfigs: [own] })];
    const isQuiet = async (): Promise<boolean> => {
      for (const replica of knowing) if ((await warnings(replica, 'theirs')) !== '') return false;
      return JSON.parse((await get(knowing[0]!, listPath)).text).items.length === 1;
    };
    await eventually('it is followed', isQuiet, { timeoutMs: 60_000, everyMs: 200 });

    const file = join(plane.dir, 'others.kubeconfig');
    const other = await fleet.start({ kubeconfigs: [await kubeconfig(file, namesIn(shard, file, 2))] });
    const pattern =
      /theirs: configmaps shown as of \d+\w ago: the process .* does not know it: give all replicas the same/;
    for (const replica of knowing) {
      await eventually('it says so', async () => pattern.test(await warnings(replica, 'theirs')), {
        timeoutMs: 60_000,
        everyMs: 200,
      });
    }
    const late = await fleet.start({ kubeconfigs: [own] });
    await eventually('so does one that comes later', async () => pattern.test(await warnings(late, 'theirs')), {
      timeoutMs: 60_000,
      everyMs: 200,
    });
    assert.equal(await warnings(other, 'theirs'), '', 'who does not know it says nothing of it');

    await fleet.stop(other, 'SIGTERM');
    await eventually('it is followed again', isQuiet, { timeoutMs: 60_000, everyMs: 200 });
  },
);
