// The certificates that replicas share: a CA, the CA that will follow it, and the serving certificate ("leaf"). This
// file only computes what should be stored; hub-serving.ts stores it. Clients must trust a new CA before it signs
// anything. So a new CA is published in `nextAuthority` first and signs only the next leaf.
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import { makeAuthority, signServingCertificate } from './serving-certificate.ts';
import type { Authority, ServingCertificate } from './serving-certificate.ts';

/** The shared certificates, as they are stored in a Secret. Everything is PEM. */
export interface ServingMaterial {
  readonly authority: Authority;
  /** The CA that will sign the next serving certificate; undefined when there is none yet. Clients already trust it. */
  readonly nextAuthority: Authority | undefined;
  /** Certificates of CAs that signed earlier serving certificates. They are kept until they expire. */
  readonly formerAuthorities: readonly string[];
  readonly leaf: ServingCertificate;
}

/**
 * A shared serving certificate ("leaf") is valid for 90 days (in milliseconds here) and replaced after 60. This leaves
 * a month for repairs when the hub refuses to store the new one.
 */
export const leafLifeMs = 90 * 24 * 60 * 60 * 1000;
const certificateForm = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g;

/** PEM bundle of every CA that a client should trust now. */
export function trustBundle(material: ServingMaterial): string {
  const { authority, nextAuthority, formerAuthorities } = material;
  const all = [authority.cert, ...(nextAuthority === undefined ? [] : [nextAuthority.cert]), ...formerAuthorities];
  return all.join('');
}

/** The certificates of a PEM bundle, each as a text of its own. */
export function splitBundle(bundle: string): readonly string[] {
  return (bundle.match(certificateForm) ?? []).map((pem) => `${pem}\n`);
}

/** Whether `bundle` contains every certificate of `wanted`. It may contain more. */
export function bundleCovers(bundle: string, wanted: string): boolean {
  const there = new Set(splitBundle(bundle).map((pem) => new X509Certificate(pem).fingerprint256));
  return splitBundle(wanted).every((pem) => there.has(new X509Certificate(pem).fingerprint256));
}

/**
 * Reads the shared certificates from the data of the Secret, whose values are base64. Undefined when the certificate,
 * its key or the CA is missing, or when they do not belong together.
 */
export function readMaterial(data: Readonly<Record<string, string>> | undefined): ServingMaterial | undefined {
  const text = (key: string): string => Buffer.from(data?.[key] ?? '', 'base64').toString('utf8');
  try {
    const leaf = { cert: text('tls.crt'), key: text('tls.key') };
    const [cert, ...formerAuthorities] = splitBundle(text('ca.crt'));
    const authority = { cert: cert ?? '', key: text('ca.key') };
    const next = { cert: text('next-ca.crt'), key: text('next-ca.key') };
    const issuer = new X509Certificate(authority.cert);
    if (!new X509Certificate(leaf.cert).checkPrivateKey(createPrivateKey(leaf.key))) return undefined;
    if (!issuer.ca || !issuer.checkPrivateKey(createPrivateKey(authority.key))) return undefined;
    if (!new X509Certificate(leaf.cert).checkIssued(issuer)) return undefined;
    const nextIsWhole = next.cert !== '' && next.key !== '';
    return {
      authority,
      nextAuthority: nextIsWhole ? next : undefined,
      formerAuthorities: formerAuthorities.filter((pem) => !nextIsWhole || pem !== next.cert),
      leaf,
    };
  } catch {
    // The Secret is still empty, as the Helm chart creates it, or somebody has edited it: it has no usable certificate.
    return undefined;
  }
}

/**
 * The data of the Secret that stores `material`. `ca.crt` is the whole trust bundle and begins with the CA that signs
 * at present, so clients can mount the Secret as it is.
 */
export function writeMaterial(material: ServingMaterial): Readonly<Record<string, string>> {
  const encode = (text: string): string => Buffer.from(text).toString('base64');
  return {
    'tls.crt': encode(material.leaf.cert),
    'tls.key': encode(material.leaf.key),
    'ca.crt': encode(trustBundle(material)),
    'ca.key': encode(material.authority.key),
    'next-ca.crt': encode(material.nextAuthority?.cert ?? ''),
    'next-ca.key': encode(material.nextAuthority?.key ?? ''),
  };
}

/**
 * What should replace `current` in the Secret; undefined when `current` can stay.
 * @param names DNS names and IP addresses for which the serving certificate must be valid
 * @param nowMs present time in milliseconds since 1970
 */
export async function renewed(
  current: ServingMaterial | undefined,
  names: readonly string[],
  nowMs: number,
): Promise<ServingMaterial | undefined> {
  if (current === undefined || isOver(current.authority.cert, nowMs)) {
    const authority = await makeAuthority(nowMs);
    const leaf = await signServingCertificate(authority, names, leafLifeMs, nowMs);
    return { authority, nextAuthority: undefined, formerAuthorities: [], leaf };
  }
  const isDue = isPastTwoThirds(current.leaf.cert, nowMs);
  if (isDue || !covers(current.leaf.cert, names)) {
    // Until the certificate is due for renewal, a replacement keeps the names that the present certificate has.
    // Otherwise two replicas with different configurations would replace each other's certificate for ever.
    const all = isDue ? names : [...new Set([...names, ...namesOf(current.leaf.cert)])];
    const { nextAuthority } = current;
    const authority = nextAuthority ?? current.authority;
    const former = [...(nextAuthority === undefined ? [] : [current.authority.cert]), ...current.formerAuthorities];
    const leaf = await signServingCertificate(authority, all, leafLifeMs, nowMs);
    return {
      authority,
      nextAuthority: undefined,
      formerAuthorities: former.filter((pem) => !isOver(pem, nowMs)),
      leaf,
    };
  }
  if (isPastTwoThirds(current.authority.cert, nowMs) && current.nextAuthority === undefined)
    return { ...current, nextAuthority: await makeAuthority(nowMs) };
  return undefined;
}

function isOver(pem: string, nowMs: number): boolean {
  return Date.parse(new X509Certificate(pem).validTo) <= nowMs;
}

function isPastTwoThirds(pem: string, nowMs: number): boolean {
  const { validFrom, validTo } = new X509Certificate(pem);
  const from = Date.parse(validFrom);
  return nowMs >= from + ((Date.parse(validTo) - from) * 2) / 3;
}

function namesOf(pem: string): readonly string[] {
  const text = new X509Certificate(pem).subjectAltName ?? '';
  return [...text.matchAll(/(?:DNS|IP Address):([^,\s"]+)/g)].map((match) => match[1]!);
}

function covers(pem: string, names: readonly string[]): boolean {
  const certificate = new X509Certificate(pem);
  return names.every((name) =>
    isIP(name) === 0
      ? certificate.checkHost(name.replace(/^\*\./, 'any.')) !== undefined
      : certificate.checkIP(name) !== undefined,
  );
}
