// Row B1, second half: the kubectl matrix straight to the gateway, with a client certificate of the hub's authority.
import { issueClientCertificate } from './accounts.ts';
import { matrixThrough } from './hub-matrix.ts';

matrixThrough('with a hub client certificate', async ({ hub, gateway }, person) => {
  const { groups } = hub.users[person];
  const { certPem, keyPem } = await issueClientCertificate(hub, person, groups);
  const base64 = (text: string): string => Buffer.from(text).toString('base64');
  return {
    // A certificate of that kind brings no uid.
    user: { name: person, uid: '', groups, token: '' },
    door: {
      url: gateway.url,
      caFile: gateway.caFile,
      credential: { 'client-certificate-data': base64(certPem), 'client-key-data': base64(keyPem) },
    },
  };
});
