// What answers on the address of a Karmada control plane: its API server, and for the proxy subresource of Clusters,
// which Karmada's aggregated API server has, the gateway.
import { createServer, request } from 'node:https';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { connect } from 'node:tls';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { createAuthority } from '../pretend/certificates.ts';
import type { HubSite } from '../hub/site.ts';

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
  const onwardTo = ({ url }: IncomingMessage) =>
    proxyPath.test(url!) ? ([gateway.url, gateway.caPem] as const) : ([hub.url, hub.caPem] as const);
  const pass = (asked: IncomingMessage, answer: ServerResponse): void => {
    const [base, ca] = onwardTo(asked);
    const { method, headers } = asked;
    const onward = request(new URL(base + asked.url!), { method, headers, ca }, (answered) => {
      answer.writeHead(answered.statusCode!, answered.headers);
      answered.pipe(answer);
    });
    onward.on('error', () => answer.destroy());
    answer.on('close', () => onward.destroy());
    asked.pipe(onward);
  };
  const passUpgrade = (asked: IncomingMessage, socket: Duplex, head: Buffer): void => {
    const [base, ca] = onwardTo(asked);
    const { hostname, port } = new URL(base);
    const onward = connect({ host: hostname, port: Number(port), ca, ALPNProtocols: ['http/1.1'] }, () => {
      const pairs = asked.rawHeaders.flatMap((name, i, all) => (i % 2 === 0 ? [`${name}: ${all[i + 1]}`] : []));
      onward.write([`${asked.method} ${asked.url} HTTP/1.1`, ...pairs, '', ''].join('\r\n'));
      onward.write(head);
      socket.pipe(onward).pipe(socket);
    });
    onward.on('error', () => socket.destroy());
    socket.on('error', () => onward.destroy());
  };
  const server = createServer({ cert: certPem, key: keyPem }, pass).on('upgrade', passUpgrade);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const caFile = path.join(plane.dir, 'front-ca.pem');
  writeFileSync(caFile, authority.certPem);
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    caFile,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
