// What answers on the address of a Karmada control plane: its API server, and for the proxy subresource of Clusters,
// which Karmada's aggregated API server has, the gateway.
import { createServer } from 'node:https';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { connect } from 'node:tls';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { createAuthority } from '../pretend/certificates.ts';
import type { HubSite } from '../hub/site.ts';
import { passOn } from '../pretend/reverse-proxy.ts';
import { serve, type Handler } from '../pretend/server.ts';

export interface ControlPlaneFront {
  readonly url: string;
  readonly caFile: string;
  close(): void;
}

const proxyPath = /^\/apis\/cluster\.karmada\.io\/v1alpha1\/clusters\/[^/?]+\/proxy(?:[/?]|$)/;

/** Listens on a port of its own; who asks is known by the bearer token, which is passed on. */
export async function startControlPlaneFront({ hub, gateway, plane }: HubSite): Promise<ControlPlaneFront> {
  const authority = await createAuthority('front-ca');
  const { certPem, keyPem } = await authority.issue({
    commonName: '127.0.0.1',
    ipAddresses: ['127.0.0.1'],
    usage: 'server',
  });
  const onwardTo = ({ url }: IncomingMessage) => (proxyPath.test(url!) ? gateway : hub);
  const pass: Handler = (asked, answer) => passOn(onwardTo(asked), asked, answer);
  const passUpgrade = (asked: IncomingMessage, socket: Duplex, head: Buffer): void => {
    const { url, caPem: ca } = onwardTo(asked);
    const { hostname, port } = new URL(url);
    const onward = connect({ host: hostname, port: Number(port), ca, ALPNProtocols: ['http/1.1'] }, () => {
      const pairs = asked.rawHeaders.flatMap((name, i, all) => (i % 2 === 0 ? [`${name}: ${all[i + 1]}`] : []));
      onward.write([`${asked.method} ${asked.url} HTTP/1.1`, ...pairs, '', ''].join('\r\n'));
      onward.write(head);
      socket.pipe(onward).pipe(socket);
    });
    onward.on('error', () => socket.destroy());
    socket.on('error', () => onward.destroy());
  };
  const { port, close } = await serve(createServer({ cert: certPem, key: keyPem }, pass).on('upgrade', passUpgrade));
  const caFile = path.join(plane.dir, 'front-ca.pem');
  writeFileSync(caFile, authority.certPem);
  return {
    url: `https://127.0.0.1:${port}`,
    caFile,
    close: () => void close(),
  };
}
