// Go's ReverseProxy, on which most Kubernetes gateways are built; the program is bench/rivals/goproxy. The setting of
// Go's garbage collector decides a third of its CPU time, so a program with a tuned setting can be measured in
// addition.
import { buildGo, goVersion } from '../go-build.ts';
import type { Site } from '../site.ts';
import { clusterName } from '../names.ts';
import { freePort, startGateway, type RunningTarget, type Target } from './target.ts';

/**
 * Settings of the tuned program. People often use `GOGC=400`, which takes more memory and less CPU time for garbage
 * collection.
 */
const tuned = { GOGC: '400' };

export const go: Target = {
  name: 'go',
  title: 'Go ReverseProxy',
  protocols: ['h1', 'h2'],
  version: goVersion,
  start: (site, progress) => startGo(site, progress, {}),
};

export const goTuned: Target = {
  name: 'go-tuned',
  title: 'Go ReverseProxy, GOGC=400',
  protocols: ['h1', 'h2'],
  version: goVersion,
  start: (site, progress) => startGo(site, progress, tuned),
};

async function startGo(
  site: Site,
  progress: (line: string) => void,
  env: Readonly<Record<string, string>>,
): Promise<RunningTarget> {
  const command = await buildGo('rivals/goproxy', progress);
  const port = await freePort();
  const args = Object.entries({
    listen: `127.0.0.1:${port}`,
    cert: site.certFile,
    key: site.keyFile,
    'token-auth-file': site.usersFile,
    cluster: clusterName,
    upstream: `https://${site.member.host}:${site.member.port}`,
    'upstream-ca': site.member.caFile,
    'upstream-token-file': site.member.tokenFile,
  }).flatMap(([name, value]) => [`-${name}`, value]);
  return await startGateway(site, port, { name: 'Go ReverseProxy', command, args, env });
}
