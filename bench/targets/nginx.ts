// nginx, if it is installed, to show what a proxy written in C reaches. It cannot remove unknown Impersonate-Extra-*
// headers and uses only HTTP/1.1 to the API server, so it does a little less work than the other programs.
import { execFile } from 'node:child_process';
import { mkdtemp, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';

import { memberTlsName } from '../member.ts';
import { userGroups } from '../names.ts';
import { type Site } from '../site.ts';
import { freePort, proxyPrefix, startGateway, type Target } from './target.ts';

const run = promisify(execFile);

export const nginx: Target = {
  name: 'nginx',
  title: 'nginx, h1 upstream',
  protocols: ['h1', 'h2'],
  version: async () => {
    try {
      return /nginx\/(\S+)/.exec((await run('nginx', ['-v'])).stderr)?.[1];
    } catch {
      return undefined;
    }
  },
  start: async (site) => {
    const port = await freePort();
    const dir = await mkdtemp(path.join(site.dir, 'nginx-'));
    const file = path.join(dir, 'nginx.conf');
    await writeFile(file, nginxConfig(site, port, dir), { mode: 0o600 });
    const args = ['-p', dir, '-e', path.join(dir, 'error.log'), '-c', file];
    return await startGateway(site, port, { name: 'nginx', command: 'nginx', args });
  },
};

/**
 * Returns nginx's whole configuration: the token table as a `map`, user and groups as two lookups, and unbuffered
 * keep-alive connections to the API server.
 */
export function nginxConfig(site: Site, port: number, dir: string): string {
  const { member } = site;
  return `
daemon off;
worker_processes auto;
pid ${dir}/nginx.pid;
events { worker_connections 8192; }
http {
  access_log off;
  client_body_temp_path ${dir}/body; proxy_temp_path ${dir}/proxy; fastcgi_temp_path ${dir}/fastcgi;
  uwsgi_temp_path ${dir}/uwsgi; scgi_temp_path ${dir}/scgi;
  map_hash_max_size 65536; map_hash_bucket_size 256; proxy_headers_hash_max_size 2048;
  map $http_authorization $bench_user {
    default "";
${site.users.map((user) => `    "Bearer ${user.token}" "${user.name}";`).join('\n')}
  }
  upstream member { server ${member.host}:${member.port}; keepalive 2048; keepalive_requests 100000000; }
  server {
    listen 127.0.0.1:${port} ssl http2;
    ssl_certificate ${site.certFile}; ssl_certificate_key ${site.keyFile}; ssl_protocols TLSv1.2 TLSv1.3;
    keepalive_requests 100000000; http2_max_concurrent_streams 100;
    client_max_body_size 16m; large_client_header_buffers 8 64k;
    location ${proxyPrefix}/ {
      if ($bench_user = "") { return 401; }
      proxy_pass https://member/;
      proxy_http_version 1.1; proxy_buffering off; proxy_request_buffering off; proxy_read_timeout 1h;
      proxy_ssl_verify on; proxy_ssl_trusted_certificate ${member.caFile}; proxy_ssl_name ${memberTlsName};
      proxy_set_header Host ${member.host}:${member.port};
      proxy_set_header Connection ""; proxy_set_header Cookie ""; proxy_set_header X-Remote-User "";
      proxy_set_header Authorization "Bearer ${member.token}";
      proxy_set_header Impersonate-User $bench_user;
${userGroups.map((group) => `      proxy_set_header Impersonate-Group "${group}";`).join('\n')}
    }
  }
}
`;
}
