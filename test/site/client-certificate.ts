// Client certificates of people, as tests show them to a gateway.
import { KeyObject } from 'node:crypto';
import { makeCertificate, usedFor } from '../../auth/x509/certificates.fixture.ts';
import type { TestCertificate, TestCertificateOptions } from '../../auth/x509/certificates.fixture.ts';
import type { Shown } from './tls-sessions.ts';

const dayMs = 24 * 60 * 60 * 1000;

/** A client certificate of this name, since yesterday and until tomorrow, unless told otherwise. */
export async function clientCertificate(
  name: string,
  issuer: TestCertificate,
  change: Partial<TestCertificateOptions> = {},
): Promise<Shown> {
  const made = await makeCertificate({
    subject: [{ CN: [name] }],
    issuer,
    validFromMs: Date.now() - dayMs,
    validToMs: Date.now() + dayMs,
    extensions: [usedFor()],
    ...change,
  });
  const key = KeyObject.from(made.keys.privateKey).export({ type: 'pkcs8', format: 'pem' });
  return { cert: made.pem, key: String(key) };
}
