// haproxy, if it is installed, as a second proxy written in C. It reuses connections to the API server only with the
// setting http-reuse. Its results are for information only; no limit is checked with them.
import { execFile } from 'node:child_process';
import { mkdtemp, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';

import { memberTlsName } from '../member.ts';
import { userGroups } from '../names.ts';
import { type Site } from '../site.ts';
import { freePort, proxyPrefix, startGateway, type Target } from './target.ts';

const run = promisify(execFile);

export const haproxy: Target = {
  name: 'haproxy',
  title: 'haproxy, h1 upstream',
  protocols: ['h1', 'h2'],
  version: async () => {
    try {
      return /version (\S+)/.exec((await run('haproxy', ['-v'])).stdout)?.[1];
    } catch {
      return undefined;
    }
  },
  start: async (site) => {
    const port = await freePort();
    const dir = await mkdtemp(path.join(site.dir, 'haproxy-'));
    const mapFile = path.join(dir, 'users.map');
    const file = path.join(dir, 'haproxy.cfg');
    await writeFile(mapFile, site.users.map((user) => `${user.token} ${user.name}\n`).join(''), { mode: 0o600 });
    await writeFile(file, haproxyConfig(site, port, mapFile), { mode: 0o600 });
    return await startGateway(site, port, { name: 'haproxy', command: 'haproxy', args: ['-db', '-q', '-f', file] });
  },
};

/**
 * Returns haproxy's whole configuration: the token table as a map file, the header rules, and keep-alive connections to
 * the API server, whose certificate is verified.
 */
export function haproxyConfig(site: Site, port: number, mapFile: string): string {
  const { member } = site;
  return `
global
  maxconn 8192
  ssl-server-verify required
defaults
  mode http
  timeout connect 5s
  timeout client 1h
  timeout server 1h
  timeout http-keep-alive 1h
  option http-keep-alive
frontend front
  bind 127.0.0.1:${port} ssl crt ${site.bundleFile} alpn h2,http/1.1
  http-request set-var(txn.user) req.hdr(authorization),word(2,' '),map_str(${mapFile})
  http-request return status 401 unless { var(txn.user) -m found }
  http-request del-header authorization
  http-request del-header cookie
  http-request del-header impersonate- -m beg
  http-request del-header x-remote- -m beg
  http-request replace-path ${proxyPrefix}(/.*) \\1
  http-request set-header Host ${member.host}:${member.port}
  http-request set-header Authorization "Bearer ${member.token}"
  http-request set-header Impersonate-User %[var(txn.user)]
${userGroups.map((group) => `  http-request add-header Impersonate-Group "${group}"`).join('\n')}
  default_backend member
backend member
  http-reuse always
  server member ${member.host}:${member.port} ssl verify required ca-file ${member.caFile} verifyhost ${memberTlsName} pool-max-conn 2048
`;
}
