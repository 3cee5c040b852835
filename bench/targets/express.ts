// express with http-proxy, on which most gateways in Node are built; the program is bench/rivals/express-http-proxy.ts.
// NODE_ENV=production is set, because express otherwise does extra work on errors.
import { readFile } from 'node:fs/promises';
import path from 'node:path';

import { freePort, proxyPrefix, startGateway, type Target } from './target.ts';

const folder = path.join(import.meta.dirname, '..');

export const express: Target = {
  name: 'express',
  title: 'express + http-proxy',
  protocols: ['h1'],
  version: async () => {
    const versions = await Promise.all(['express', 'http-proxy'].map(installedVersion));
    return `${versions.join(' + ')} on Node ${process.version}`;
  },
  start: async (site) => {
    const port = await freePort();
    return await startGateway(site, port, {
      name: 'express + http-proxy',
      command: process.execPath,
      args: [
        path.join(folder, 'rivals', 'express-http-proxy.ts'),
        JSON.stringify({
          port,
          certFile: site.certFile,
          keyFile: site.keyFile,
          usersFile: site.usersFile,
          prefix: proxyPrefix,
          upstream: `https://${site.member.host}:${site.member.port}`,
          upstreamCaFile: site.member.caFile,
          upstreamTokenFile: site.member.tokenFile,
        }),
      ],
      env: { NODE_ENV: 'production' },
    });
  },
};

async function installedVersion(name: string): Promise<string> {
  const file = path.join(folder, '..', 'node_modules', name, 'package.json');
  return `${name} ${(JSON.parse(await readFile(file, 'utf8')) as { readonly version: string }).version}`;
}
