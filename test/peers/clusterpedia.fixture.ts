// Clusterpedia's own programs beside a hub, as they are released: started with an administrator's kubeconfig, storing
// into a PostgreSQL. They are not built here. PORTCULLIS_CLUSTERPEDIA names the folder that holds `controller-manager`,
// `clustersynchro-manager` and `apiserver`, and may hold its policies in `clusterimportpolicy`.
import { accessSync, constants, existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { parse } from 'yaml';
import { freePort, startChild, type Child } from '../controlplane/processes.ts';
import type { Member } from '../controlplane/fixture.ts';
import { startPostgresServer, type PostgresServer } from '../site/postgres.fixture.ts';

export const folderVariable = 'PORTCULLIS_CLUSTERPEDIA';
const programs = ['controller-manager', 'clustersynchro-manager', 'apiserver'] as const;
type Program = (typeof programs)[number];

/** Its components look after each other every 15 s by default; with this a switch takes seconds. */
const quickElection = [
  '--leader-elect-lease-duration=4s',
  '--leader-elect-renew-deadline=3s',
  '--leader-elect-retry-period=1s',
];

/** Why the tests cannot run; undefined when they can. */
export function missingPrograms(): string | undefined {
  const folder = process.env[folderVariable];
  if (folder === undefined || folder === '') return `${folderVariable} must name a folder with ${programs.join(', ')}`;
  for (const program of programs) {
    try {
      accessSync(path.join(folder, program), constants.X_OK);
    } catch {
      return `${folderVariable}: ${path.join(folder, program)} is no program`;
    }
  }
  return undefined;
}

/** The policies that Clusterpedia ships, by name; undefined where the folder does not hold them. */
export function shippedPolicies(): ((name: string) => Record<string, unknown>) | undefined {
  const folder = path.join(process.env[folderVariable]!, 'clusterimportpolicy');
  if (!existsSync(folder)) return undefined;
  return (name) =>
    parse(readFileSync(path.join(folder, `${name.replace('-', '_')}.yaml`), 'utf8')) as Record<string, unknown>;
}

/** Clusterpedia on one hub. */
export interface Clusterpedia {
  /** Starts both controllers, as after an installation or when they are scaled up. */
  start(): Promise<void>;
  /** Ends both in good order, as when they are scaled to zero. */
  stopControllers(): Promise<void>;
  /** Starts its API server; returns the port on 127.0.0.1. */
  startApiserver(): Promise<number>;
  /** The last lines that its programs wrote. */
  logs(): Promise<string>;
  stop(): Promise<void>;
}

export async function installClusterpedia(hub: Member): Promise<Clusterpedia> {
  const postgres = await startPostgresServer();
  const config = await writeStorageConfig(postgres);
  const children: Child[] = [];
  const run = (program: Program, args: readonly string[]): Child => {
    const child = startChild({
      name: program,
      command: path.join(process.env[folderVariable]!, program),
      args,
      cwd: postgres.directory,
      logFile: path.join(hub.dir, `${program}.log`),
      env: { CLUSTERPEDIA_NAMESPACE: 'clusterpedia-system' },
    });
    children.push(child);
    return child;
  };
  const kubeconfig = `--kubeconfig=${hub.adminKubeconfig}`;
  const controllers: Child[] = [];
  const stopControllers = async (): Promise<void> => {
    await Promise.all(controllers.splice(0).map((child) => child.stop()));
  };
  return {
    async start() {
      const metrics = ['--metrics-host=127.0.0.1', `--metrics-port=${await freePort()}`];
      controllers.push(
        run('controller-manager', [kubeconfig, ...quickElection]),
        run('clustersynchro-manager', [kubeconfig, ...quickElection, `--storage-config=${config}`, ...metrics]),
      );
    },
    stopControllers,
    async startApiserver() {
      const port = await freePort();
      run('apiserver', [
        kubeconfig,
        `--authentication-kubeconfig=${hub.adminKubeconfig}`,
        `--authorization-kubeconfig=${hub.adminKubeconfig}`,
        `--storage-config=${config}`,
        '--bind-address=127.0.0.1',
        `--secure-port=${port}`,
        `--cert-dir=${hub.dir}`,
      ]);
      return port;
    },
    logs: async () =>
      (await Promise.all(children.map(async ({ name, tail }) => `-- ${name}\n${await tail()}`))).join('\n'),
    async stop() {
      await Promise.all(children.map((child) => child.stop()));
      await postgres.stop();
    },
  };
}

/** Its `internalstorage-config.yaml`, which is JSON here. */
async function writeStorageConfig(postgres: PostgresServer): Promise<string> {
  // It writes the password unquoted into its connection string, so it must be one word.
  await postgres.run("CREATE ROLE clusterpedia LOGIN PASSWORD 'oneword'");
  await postgres.createDatabase('clusterpedia');
  await postgres.run('ALTER DATABASE clusterpedia OWNER TO clusterpedia');
  const config = {
    type: 'postgres',
    host: '127.0.0.1',
    port: String(postgres.port),
    user: 'clusterpedia',
    password: 'oneword',
    database: 'clusterpedia',
    sslMode: 'disable',
  };
  const file = path.join(postgres.directory, 'internalstorage-config.yaml');
  writeFileSync(file, JSON.stringify(config));
  return file;
}
