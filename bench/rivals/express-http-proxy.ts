// A gateway made of express and http-proxy, for comparison. It runs in its own process, is written as the documentation
// of http-proxy shows, and does the same work as all other measured programs. It uses a keep-alive agent, since
// http-proxy otherwise opens a TLS connection for every request.
import { readFileSync } from 'node:fs';
import { Agent, createServer } from 'node:https';

import express from 'express';
import httpProxy from 'http-proxy';

/** The settings of the process, which are its only command line argument, as JSON. */
interface Settings {
  readonly port: number;
  readonly certFile: string;
  readonly keyFile: string;
  readonly usersFile: string;
  readonly prefix: string;
  readonly upstream: string;
  readonly upstreamCaFile: string;
  readonly upstreamTokenFile: string;
}

interface User {
  readonly name: string;
  readonly groups: string[];
}

/**
 * Headers that are not passed on: the hop-by-hop headers of RFC 9110 section 7.6.1, and headers that an API server must
 * not get from a client.
 */
const dropped = new Set(
  (
    'connection keep-alive proxy-authenticate proxy-authorization proxy-connection te trailer transfer-encoding upgrade ' +
    'authorization cookie'
  ).split(' '),
);

function readUsers(file: string): Map<string, User> {
  const users = new Map<string, User>();
  for (const line of readFileSync(file, 'utf8').split('\n')) {
    const match = /^([^,]+),([^,]+),([^,]*),"([^"]*)"$/.exec(line);
    if (match) users.set(match[1] as string, { name: match[2] as string, groups: (match[4] as string).split(',') });
  }
  return users;
}

function forbidden(name: string): boolean {
  return dropped.has(name) || name.startsWith('impersonate-') || name.startsWith('x-remote-') || name.includes('_');
}

function start(settings: Settings): void {
  const users = readUsers(settings.usersFile);
  const authorization = `Bearer ${readFileSync(settings.upstreamTokenFile, 'utf8').trim()}`;
  const agent = new Agent({ keepAlive: true, maxSockets: Infinity, ca: readFileSync(settings.upstreamCaFile) });
  const proxy = httpProxy.createProxyServer({ target: settings.upstream, agent, changeOrigin: true });
  proxy.on('error', (_error, _request, response) => {
    if ('writeHead' in response && !response.headersSent) response.writeHead(502).end();
    else response.destroy();
  });
  // When the client disconnects, http-proxy 1.18 leaves its request to the API server open, so a watch would never end.
  proxy.on('proxyReq', (outgoing, _request, response) => {
    response.on('close', () => outgoing.destroy());
  });
  const app = express();
  app.disable('x-powered-by');
  app.use(settings.prefix, (request, response) => {
    const token = /^Bearer (\S+)$/.exec(request.headers.authorization ?? '')?.[1];
    const user = token === undefined ? undefined : users.get(token);
    if (user === undefined) {
      response.status(401).end();
      return;
    }
    for (const name of Object.keys(request.headers)) {
      if (forbidden(name)) delete request.headers[name];
    }
    request.headers.authorization = authorization;
    request.headers['impersonate-user'] = user.name;
    request.headers['impersonate-group'] = user.groups;
    proxy.web(request, response);
  });
  const certificate = { cert: readFileSync(settings.certFile), key: readFileSync(settings.keyFile) };
  createServer(certificate, app).listen(settings.port, '127.0.0.1');
}

start(JSON.parse(process.argv[2] ?? '{}') as Settings);
