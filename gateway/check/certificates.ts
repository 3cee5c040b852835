// Finds certificates that have expired or will soon expire. Every certificate of a bundle is checked: once a CA has
// expired, the certificates that it signed are no longer accepted, and their holders are locked out.
import { X509Certificate } from 'node:crypto';
import type { Unread, Weakness } from './weakness.ts';

const dayMs = 24 * 60 * 60 * 1000;
/**
 * Certificates that expire within this many milliseconds (30 days) are reported, so that there is time to renew them.
 */
export const soonMs = 30 * dayMs;

/** What a certificate is used for; findings name it. */
export type CertificatePurpose = 'client certificate' | 'serving certificate' | 'certificate authority';

const renewals: Readonly<Record<CertificatePurpose, string>> = {
  'client certificate': 'Have a new one signed and put it in its place; the gateway takes it over without a restart.',
  'serving certificate': 'Have a new one signed and put it in its place; the gateway takes it over without a restart.',
  'certificate authority':
    'Add the next authority to the bundle now, and take this one out when nothing it signed is in use.',
};

/**
 * Checks every certificate in a PEM text.
 * @param where the file, or cluster and field, that is named in the finding
 */
export function certificateWeaknesses(
  pem: string,
  where: string,
  purpose: CertificatePurpose,
  nowMs: number,
): readonly Weakness[] {
  return blocksOf(pem).flatMap((block): readonly Weakness[] => {
    let certificate: X509Certificate;
    try {
      certificate = new X509Certificate(block);
    } catch {
      return [];
    }
    const endMs = certificate.validToDate.getTime();
    const fix = renewals[purpose];
    const name = subjectOf(certificate);
    const end = certificate.validToDate.toISOString().slice(0, 10);
    if (certificate.validFromDate.getTime() > nowMs)
      return [
        {
          name: 'CertificateNotYetValid',
          severity: 'high',
          where,
          what: `the ${purpose}${name} is valid only later`,
          fix,
        },
      ];
    if (endMs <= nowMs)
      return [
        { name: 'CertificateExpired', severity: 'high', where, what: `the ${purpose}${name} ended on ${end}`, fix },
      ];
    if (endMs - nowMs >= soonMs) return [];
    const days = Math.floor((endMs - nowMs) / dayMs);
    return [
      {
        name: 'CertificateExpiresSoon',
        severity: 'medium',
        where,
        what: `the ${purpose}${name} ends on ${end}, in ${days} days`,
        fix,
      },
    ];
  });
}

/** Returns a finding when no certificate in the PEM text can be read; otherwise an empty list. */
export function certificateUnread(pem: string, where: string, purpose: CertificatePurpose): readonly Unread[] {
  const readable = blocksOf(pem).some((block) => {
    try {
      return new X509Certificate(block).subject !== undefined;
    } catch {
      return false;
    }
  });
  return readable ? [] : [{ where, what: `holds no ${purpose} that can be read` }];
}

function blocksOf(pem: string): readonly string[] {
  return pem.match(/-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g) ?? [];
}

function subjectOf({ subject }: X509Certificate): string {
  const name = /^CN=(.*)$/m.exec(subject ?? '')?.[1];
  return name === undefined ? '' : ` "${name}"`;
}
