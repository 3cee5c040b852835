// `kubectl proxy`, which people use where there is no gateway: without TLS for its clients, without users, and with one
// identity from its kubeconfig. It does much less work than the other programs, so no limit is checked with its
// results.
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';

import { ensureBinaries } from '../../test/controlplane/build.ts';
import { userGroups } from '../names.ts';
import { configMapPath } from '../member.ts';
import { freePort, startGateway, type Target } from './target.ts';

const run = promisify(execFile);

export const kubectlProxy: Target = {
  name: 'kubectl-proxy',
  title: 'kubectl proxy, plain HTTP',
  protocols: ['h1'],
  version: async () => {
    const { stdout } = await run(await kubectl(() => undefined), ['version', '--client', '--output', 'json']);
    return (JSON.parse(stdout) as { readonly clientVersion: { readonly gitVersion: string } }).clientVersion.gitVersion;
  },
  start: async (site, progress) => {
    const port = await freePort();
    const kubeconfig = path.join(await mkdtemp(path.join(site.dir, 'kubectl-')), 'kubeconfig');
    const config = JSON.parse(await readFile(site.member.kubeconfigFile, 'utf8')) as {
      readonly users: readonly { readonly user: Record<string, unknown> }[];
    };
    for (const { user } of config.users) Object.assign(user, { as: site.user.name, 'as-groups': userGroups });
    await writeFile(kubeconfig, JSON.stringify(config), { mode: 0o600 });
    const command = await kubectl(progress);
    const args = ['proxy', '--kubeconfig', kubeconfig, '--port', String(port), '--reject-paths', '^$'];
    const running = await startGateway(site, port, { name: 'kubectl proxy', command, args }, configMapPath, true);
    return { ...running, prefix: '' };
  },
};

async function kubectl(progress: (line: string) => void): Promise<string> {
  return (await ensureBinaries(['kubectl'], { progress }))['kubectl']!;
}
