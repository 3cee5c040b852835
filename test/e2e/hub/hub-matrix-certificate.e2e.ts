// The kubectl matrix straight to the gateway, with a client certificate of the hub's authority.
import { X509Certificate } from 'node:crypto';

import { issueClientCertificate } from '../identity/accounts.ts';
import { matrixThrough } from './hub-matrix.ts';

matrixThrough('with a hub client certificate', async ({ hub, gateway }, person) => {
  const { groups } = hub.users[person];
  const { certPem, keyPem } = await issueClientCertificate(hub, person, groups);
  const base64 = (text: string): string => Buffer.from(text).toString('base64');
  // What kube-apiserver makes of such a certificate: no uid, and an extra that says which it was.
  const digest = new X509Certificate(certPem).fingerprint256.replaceAll(':', '').toLowerCase();
  const extra = { 'authentication.kubernetes.io/credential-id': [`X509SHA256=${digest}`] };
  return {
    user: { name: person, uid: '', groups, extra, token: '' },
    endpoint: {
      url: gateway.url,
      caFile: gateway.caFile,
      credential: { 'client-certificate-data': base64(certPem), 'client-key-data': base64(keyPem) },
    },
  };
});
