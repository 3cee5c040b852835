import assert from 'node:assert/strict';
import test from 'node:test';
import { explainConnection } from './explain.ts';
import type { Connection } from './gateway-connection.ts';

const connection: Connection = {
  root: 'https://gw:8443',
  ca: undefined,
  serverName: undefined,
  insecure: false,
  token: 'secret-token',
  clientCertificate: undefined,
  proxyEnv: {},
};
const explain = (code: string | undefined): { readonly message: string; readonly nextStep: string } =>
  explainConnection(Object.assign(new Error('what Node says'), code === undefined ? {} : { code }), connection, 30_000);

test('what Node reports becomes what to do, code by code', () => {
  const advice: readonly (readonly [codes: readonly string[], message: RegExp, step: RegExp])[] = [
    [['ECONNREFUSED'], /nothing listens at https:\/\/gw:8443/, /portcullis serve --listen gw:8443/],
    [['ENOTFOUND', 'EAI_AGAIN'], /cannot be resolved/, /spelling of --server/],
    [['ABORT_ERR'], /did not answer within 30 s/, /firewalls/],
    [['ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH'], /did not answer$/, /firewalls/],
    [['CERT_HAS_EXPIRED', 'CERT_NOT_YET_VALID'], /not valid at this time/, /clock/],
    [['ERR_TLS_CERT_ALTNAME_INVALID'], /for another name: what Node says/, /--tls-cert-file/],
    [
      ['EPROTO', 'ERR_SSL_WRONG_VERSION_NUMBER', 'ERR_SSL_PACKET_LENGTH_TOO_LONG'],
      /does not speak TLS/,
      /--ops-listen/,
    ],
    [
      ['ERR_SSL_TLSV1_ALERT_UNKNOWN_CA', 'ERR_SSL_SSL/TLS_ALERT_CERTIFICATE_UNKNOWN'],
      /refused the TLS handshake/,
      /--client-ca-file/,
    ],
    [
      [
        'SELF_SIGNED_CERT_IN_CHAIN',
        'DEPTH_ZERO_SELF_SIGNED_CERT',
        'UNABLE_TO_GET_ISSUER_CERT',
        'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
        'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
        'CERT_SIGNATURE_FAILURE',
      ],
      /not signed by a CA you trust/,
      /--certificate-authority DATA-DIR\/ca\.crt/,
    ],
    [['ECONNRESET', 'EPIPE'], /the request to https:\/\/gw:8443 failed: what Node says/, /runs and is reachable/],
  ];
  for (const [codes, message, step] of advice) {
    for (const code of codes) {
      const failure = explain(code);
      assert.match(failure.message, message, code);
      assert.match(failure.nextStep, step, code);
    }
  }
  assert.match(explain(undefined).message, /failed: what Node says/);
});
