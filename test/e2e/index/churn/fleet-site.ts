// Replicas of a gateway that share an index in a real PostgreSQL, over real members, for tests of what happens when one
// of all these is in trouble. The replicas reach the database by a line that a test can slow, cut and lead elsewhere.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { startControlPlane } from '../../../controlplane/fixture.ts';
import type { ControlPlane } from '../../../controlplane/fixture.ts';
import { startGatewayProcess, type GatewayOptions, type GatewayProcess } from '../../../gateway-process.ts';
import { startLine, type Line } from '../../../site/line.fixture.ts';
import { eventually } from '../../../site/polling.ts';
import { startPostgresServer, type PostgresOptions, type PostgresServer } from '../../../site/postgres.fixture.ts';
import { ask } from '../../kubectl/kubectl-as.ts';

const run = promisify(execFile);
const program = new URL('../../../../bin/portcullis.mjs', import.meta.url).pathname;

export const indexPath = '/apis/search.portcullis.io/v1alpha1/indexes/default';
export const configMaps = '/api/v1/namespaces/team-a/configmaps';
export const listPath = `${indexPath}/proxy${configMaps}`;
/** May do everything in every member. */
export const carol = { name: 'carol', groups: [], token: 'carol-at-the-gateway' };

export interface FleetOptions {
  readonly members: readonly string[];
  readonly replicas: number;
  readonly postgres?: PostgresOptions;
  /** Called before the database is made. @returns what to add to CREATE DATABASE */
  readonly prepare?: (server: PostgresServer) => Promise<string>;
}

export interface Fleet {
  readonly plane: ControlPlane;
  readonly server: PostgresServer;
  readonly line: Line;
  /** Those that run. */
  readonly replicas: GatewayProcess[];
  /** Starts another, with the same folder and authority. @param options what differs from the others */
  start(options?: Partial<GatewayOptions>): Promise<GatewayProcess>;
  /** Ends one. @returns its exit code, or the signal */
  stop(replica: GatewayProcess, signal: NodeJS.Signals): Promise<number | string>;
  /** Runs a statement in the database of the index. */
  sql<Row extends object>(text: string, port?: number): Promise<readonly Row[]>;
  /** URL of the database, over the line or another port. */
  database(port?: number): string;
  close(): Promise<void>;
}

export interface Listed {
  readonly status: number;
  readonly text: string;
  readonly warnings: readonly string[];
}

/** Starts members, database and replicas; resolves when each replica has all of each member. */
export async function startFleet({ members, replicas: count, postgres = {}, prepare }: FleetOptions): Promise<Fleet> {
  const [server, plane] = await Promise.all([
    startPostgresServer(postgres),
    startControlPlane({ members, bare: members, audit: false }),
  ]);
  const line = await startLine(server.port);
  const replicas: GatewayProcess[] = [];
  const database = (port = line.port): string => `postgres://fleet:fleet@127.0.0.1:${port}/fleet`;
  const folder = mkdtempSync(join(plane.dir, 'replicas-'));
  const fleet: Fleet = {
    plane,
    server,
    line,
    replicas,
    database,
    async start(options = {}) {
      const replica = await startGatewayProcess({
        kubeconfigs: [plane.gatewayKubeconfig],
        users: [carol],
        dataDir: folder,
        ...options,
        // A second, by the time scale of tests, so that requests that are on their way reach a replica that ends.
        config: { shutdownDelaySeconds: 10, ...options.config },
        env: { PORTCULLIS_TEST_TIME_SCALE: '0.1', PORTCULLIS_INDEX_STORE: database(), ...options.env },
        args: ['--index-resources', 'configmaps', '--index-rights', 'rbac', ...(options.args ?? [])],
      });
      replicas.push(replica);
      return replica;
    },
    async sql(text, port = server.port) {
      const client = new Client({ connectionString: database(port), options: '-c search_path=portcullis' });
      await client.connect();
      try {
        return (await client.query(text)).rows;
      } finally {
        await client.end();
      }
    },
    async stop(replica, signal) {
      replicas.splice(replicas.indexOf(replica), 1);
      return await replica.stop(signal);
    },
    async close() {
      for (const replica of replicas) replica.child.kill('SIGCONT');
      for (const replica of replicas) await replica.stop('SIGKILL');
      line.close();
      await plane.stop();
      await server.stop();
    },
  };
  try {
    await server.run("CREATE ROLE fleet LOGIN PASSWORD 'fleet'");
    await server.run(`CREATE DATABASE fleet OWNER fleet ${(await prepare?.(server)) ?? ''}`);
    await grantIndex(plane);
    for (let replica = 0; replica < count; replica += 1) await fleet.start();
    await allWhole(fleet);
    return fleet;
  } catch (error) {
    await fleet.close();
    throw error;
  }
}

/** Lets the index read ConfigMaps of all members. */
async function grantIndex(plane: ControlPlane): Promise<void> {
  const access = ['generate', 'member-access', '--index', '--index-resources', 'configmaps'];
  const account = ['--gateway-service-account', 'portcullis/gateway'];
  const { stdout } = await run(process.execPath, [program, ...access, ...account]);
  for (const member of plane.members) {
    const applied = await member.kubectl(['apply', '-f', '-'], { stdin: stdout });
    assert.equal(applied.code, 0, applied.stderr);
  }
}

/** Resolves when every replica says that it has all of every member. */
export async function allWhole({ replicas, plane }: Pick<Fleet, 'replicas' | 'plane'>): Promise<void> {
  const isWhole = async (replica: GatewayProcess): Promise<boolean> => {
    const { status, text } = await get(replica, `${indexPath}/freshness`);
    if (status !== 200) return false;
    const { clusters } = JSON.parse(text) as {
      readonly clusters: readonly { readonly resources: readonly { readonly whole: boolean }[] }[];
    };
    const whole = clusters.filter(({ resources }) => resources.length > 0 && resources.every((one) => one.whole));
    return whole.length === plane.members.length;
  };
  for (const replica of replicas) {
    await eventually('a replica has all', () => isWhole(replica), { timeoutMs: 60_000, everyMs: 100 });
  }
}

/** A GET as carol. */
export async function get(replica: GatewayProcess, path: string): Promise<Listed> {
  const { status, headers, body } = await ask(replica, carol.token, 'GET', path);
  const warning = headers['warning'];
  const warnings = warning === undefined ? [] : [String(warning)];
  return { status, text: body.toString('utf8'), warnings };
}

/** The list of all ConfigMaps at a replica: versions by uid, as the members say them. */
export async function versionsAt(replica: GatewayProcess): Promise<ReadonlyMap<string, string>> {
  const { status, text } = await get(replica, listPath);
  assert.equal(status, 200, text);
  return versionsIn(text);
}

function versionsIn(list: string): ReadonlyMap<string, string> {
  const { items } = JSON.parse(list) as {
    readonly items: readonly { readonly metadata: { readonly uid: string; readonly resourceVersion: string } }[];
  };
  const versions = items.map(({ metadata }) => [metadata.uid, metadata.resourceVersion] as const);
  assert.equal(new Set(versions.map(([uid]) => uid)).size, versions.length, 'an object is listed twice');
  return new Map(versions.toSorted());
}

/** The same as the members themselves say it. */
export async function versionsOfMembers(plane: Pick<ControlPlane, 'members'>): Promise<ReadonlyMap<string, string>> {
  const lists = await Promise.all(plane.members.map((member) => member.request('GET', configMaps)));
  return new Map(lists.flatMap(({ body }) => [...versionsIn(body)]).toSorted());
}

/** Resolves when every replica lists what the members have. */
export async function equalMembers({ plane, replicas }: Pick<Fleet, 'plane' | 'replicas'>): Promise<void> {
  for (const replica of replicas) {
    await eventually(
      'a replica lists what the members have',
      async () => {
        assert.deepEqual(await versionsAt(replica), await versionsOfMembers(plane));
        return true;
      },
      { timeoutMs: 90_000, everyMs: 300 },
    );
  }
}

/** Makes a ConfigMap in a member, or changes it. */
export async function put(plane: ControlPlane, member: string, name: string, value = ''): Promise<void> {
  const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { value } };
  const made = await plane.member(member).request('POST', configMaps, object);
  if (made.status === 201) return;
  const changed = await plane.member(member).request('PUT', `${configMaps}/${name}`, object);
  assert.equal(changed.status, 200, changed.body);
}
