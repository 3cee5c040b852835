// An aggregated API server that does nothing but note with which certificate the hub's aggregator introduces itself: a
// front-proxy certificate is replaced on disk, and the hub tells nobody when it begins to show the new one. Kept
// connections go on with the old one.
import type { TLSSocket } from 'node:tls';

import type { Authority } from '../pretend/certificates.ts';
import type { Member } from '../controlplane/fixture.ts';
import { aggregationObjects, serviceHost } from './objects.ts';
import { newServer, sendJson } from '../pretend/server.ts';

const group = 'witness.portcullis.test';

/** Where the aggregator can be seen. */
export interface AggregatorWitness {
  /**
   * Serial number of the certificate that the aggregator shows now, in upper-case hexadecimal digits; undefined while
   * it shows none.
   */
  shownSerial(): Promise<string | undefined>;
  close(): Promise<void>;
}

/**
 * Registers an APIService of its own beside the gateway's; needs their Service. @param authority signs its serving
 * certificate
 */
export async function startAggregatorWitness(hub: Member, authority: Authority): Promise<AggregatorWitness> {
  const pair = await authority.issue({ commonName: serviceHost, dnsNames: [serviceHost], usage: 'server' });
  let serial: string | undefined;
  const { port, close } = await newServer(
    (request, response) => {
      serial = (request.socket as TLSSocket).getPeerX509Certificate()?.serialNumber;
      // What is asked next must come over a new connection.
      response.setHeader('connection', 'close');
      const list = { kind: 'APIResourceList', apiVersion: 'v1', groupVersion: `${group}/v1alpha1`, resources: [] };
      sendJson(response, 200, list);
    },
    { cert: pair.certPem, key: pair.keyPem, requestCert: true, rejectUnauthorized: false },
  );
  const [, apiService] = aggregationObjects(port, authority.certPem, [group]);
  await hub.apply(apiService!);
  return {
    async shownSerial() {
      serial = undefined;
      const { status } = await hub.request('GET', `/apis/${group}/v1alpha1/seen`);
      return status === 200 ? serial : undefined;
    },
    close,
  };
}
