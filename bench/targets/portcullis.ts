// Portcullis as anybody would start it: `portcullis serve` with a kubeconfig and a token file. Easy to get wrong: no
// flag here may reduce the work that it does by default (audit log, metrics and probes stay as they are).
import { mkdtemp, readFile } from 'node:fs/promises';
import path from 'node:path';

import type { Site } from '../site.ts';
import { freePort, startGateway, type RunningTarget, type Target } from './target.ts';

const ownRoot = path.join(import.meta.dirname, '..', '..');

export const portcullis = targetIn(ownRoot, 'portcullis', 'Portcullis');

/** Makes a target from the Portcullis of another checkout of this repository, such as the one before a change. */
export function otherCheckout(root: string): Target {
  return targetIn(root, 'other', `Portcullis of ${root}`);
}

function targetIn(root: string, name: 'portcullis' | 'other', title: string): Target {
  return {
    name,
    title,
    protocols: ['h1', 'h2'],
    version: async () => {
      const manifest = JSON.parse(await readFile(path.join(root, 'package.json'), 'utf8')) as {
        readonly version: string;
      };
      return `${manifest.version} on Node ${process.version}`;
    },
    start: (site, _progress, watches) => {
      const bounds = ['--max-cluster-streams', '--max-user-cluster-streams', '--max-user-streams'];
      const args = watches === undefined ? [] : bounds.flatMap((flag) => [flag, String(watches)]);
      return startPortcullis(site, site.member.kubeconfigFile, { args, root });
    },
  };
}

/** Starts `portcullis serve` with a kubeconfig; resolves when a GET of `readyPath` is answered with 200. */
export async function startPortcullis(
  site: Site,
  kubeconfigFile: string,
  options: {
    readonly readyPath?: string;
    readonly nodeArgs?: readonly string[];
    readonly args?: readonly string[];
    /** Path of the checkout whose `portcullis` is started; by default this checkout. */
    readonly root?: string;
  } = {},
): Promise<RunningTarget> {
  const port = await freePort();
  const opsPort = await freePort();
  const dataDir = await mkdtemp(path.join(site.dir, 'data-'));
  const args = [
    ...(options.nodeArgs ?? []),
    path.join(options.root ?? ownRoot, 'bin', 'portcullis.mjs'),
    'serve',
    '--listen',
    `127.0.0.1:${port}`,
    '--ops-listen',
    `127.0.0.1:${opsPort}`,
    '--data-dir',
    dataDir,
    '--kubeconfig',
    kubeconfigFile,
    '--token-auth-file',
    site.usersFile,
    '--tls-cert-file',
    site.certFile,
    '--tls-private-key-file',
    site.keyFile,
    ...(options.args ?? []),
  ];
  return await startGateway(site, port, { name: 'portcullis', command: process.execPath, args }, options.readyPath);
}
