// Parses what client authentication needs from a certificate: its names, whether it may sign others, and what it may be
// used for. Names are read from the DER, because Node's `subject` string merges repeated and multi-valued attributes.
import { X509Certificate, createHash } from 'node:crypto';
import { booleanOf, derTags, oidText, readElements, readOne, smallIntegerOf, stringOf } from './der.ts';
import type { DerElement } from './der.ts';

/** A parsed certificate. */
export interface Certificate {
  /** The certificate as Node's object, for checking signatures and dates. */
  readonly x509: X509Certificate;
  /** SHA-256 of the DER bytes in hex. */
  readonly fingerprint: string;
  /** Subject, issuer and public key: their DER in hex, compared byte for byte as in Go. */
  readonly subjectKey: string;
  readonly issuerKey: string;
  readonly publicKeyInfo: string;
  readonly validFromMs: number;
  readonly validToMs: number;
  /** The last CN attribute, as in Go; '' for none. */
  readonly commonName: string;
  /** All O attributes in order, also those in multi-valued RDNs. */
  readonly organizations: readonly string[];
  /** All UID attributes as Kubernetes defines them. */
  readonly uids: readonly string[];
  /**
   * Whether the certificate may sign others: basic constraints have CA set, and key usage, if present, allows
   * certificate signing.
   */
  readonly mayIssue: boolean;
  /**
   * Maximum number of intermediate certificates between this one and the client's certificate; undefined for no limit.
   */
  readonly pathLength: number | undefined;
  /** Extended key usages; undefined means all uses are allowed. */
  readonly usages: readonly string[] | undefined;
  /**
   * Whether the certificate is signed with an algorithm that Go's crypto/x509 accepts; for example, SHA-1 is not
   * accepted.
   */
  readonly soundSignature: boolean;
  readonly hasNameConstraints: boolean;
  /** Object identifiers of critical extensions that this code does not evaluate; such a certificate must be refused. */
  readonly unhandledCritical: readonly string[];
}

interface Extension {
  readonly oid: string;
  readonly critical: boolean;
  readonly value: Uint8Array;
}

const commonNameOid = '2.5.4.3';
const organizationOid = '2.5.4.10';
/** Kubernetes' own attribute for a UID; apiserver:pkg/authentication/request/x509 (asn1util.X509UID). */
const uidOid = '1.3.6.1.4.1.57683.2';
const keyUsageOid = '2.5.29.15';
const subjectAltNameOid = '2.5.29.17';
const basicConstraintsOid = '2.5.29.19';
const nameConstraintsOid = '2.5.29.30';
const policiesOid = '2.5.29.32';
const extendedKeyUsageOid = '2.5.29.37';
const handledOids = new Set([
  keyUsageOid,
  subjectAltNameOid,
  basicConstraintsOid,
  nameConstraintsOid,
  policiesOid,
  extendedKeyUsageOid,
]);

/** RSA PKCS #1 and ECDSA with SHA-256, SHA-384 and SHA-512, and Ed25519. */
const soundAlgorithms = new Set([
  '1.2.840.113549.1.1.11',
  '1.2.840.113549.1.1.12',
  '1.2.840.113549.1.1.13',
  '1.2.840.10045.4.3.2',
  '1.2.840.10045.4.3.3',
  '1.2.840.10045.4.3.4',
  '1.3.101.112',
]);
const rsaPssOid = '1.2.840.113549.1.1.10';
const soundDigests = new Set(['2.16.840.1.101.3.4.2.1', '2.16.840.1.101.3.4.2.2', '2.16.840.1.101.3.4.2.3']);

/**
 * Parses one certificate.
 * @throws Error that says what is wrong, without quoting the certificate
 */
export function readCertificate(der: Uint8Array): Certificate {
  const x509 = new X509Certificate(der);
  const [body, algorithm] = readElements(readOne(der, derTags.sequence).content);
  if (body?.tag !== derTags.sequence || algorithm?.tag !== derTags.sequence) throw new Error('not a certificate');
  const fields = readElements(body.content);
  // The version field has tag [0]; version 1 certificates do not have it.
  if (fields[0]?.tag === 0xa0) fields.shift();
  const [, , issuer, , subject, publicKeyInfo, ...optional] = fields;
  if (issuer === undefined || subject === undefined || publicKeyInfo === undefined)
    throw new Error('not a certificate');
  const attributes = nameAttributes(subject);
  const valuesOf = (wanted: string) => attributes.filter(([oid]) => oid === wanted).map(([, value]) => value);
  const extensions = readExtensions(optional.find((field) => field.tag === 0xa3));
  const valueOf = (wanted: string) => extensions.find(({ oid }) => oid === wanted)?.value;
  const constraints = basicConstraints(valueOf(basicConstraintsOid));
  return {
    x509,
    fingerprint: createHash('sha256').update(der).digest('hex'),
    subjectKey: hex(subject),
    issuerKey: hex(issuer),
    publicKeyInfo: hex(publicKeyInfo),
    validFromMs: x509.validFromDate.getTime(),
    validToMs: x509.validToDate.getTime(),
    commonName: valuesOf(commonNameOid).at(-1) ?? '',
    organizations: valuesOf(organizationOid),
    uids: valuesOf(uidOid),
    mayIssue: x509.ca && constraints.ca && maySignCertificates(valueOf(keyUsageOid)),
    pathLength: constraints.pathLength,
    usages: extendedKeyUsages(valueOf(extendedKeyUsageOid)),
    soundSignature: isSound(algorithm),
    hasNameConstraints: valueOf(nameConstraintsOid) !== undefined,
    unhandledCritical: extensions
      .filter(({ oid, critical }) => critical && !handledOids.has(oid))
      .map(({ oid }) => oid),
  };
}

function hex(element: DerElement): string {
  return Buffer.from(element.whole).toString('hex');
}

function nameAttributes(name: DerElement): [oid: string, value: string][] {
  return readElements(name.content).flatMap((relative) =>
    readElements(relative.content).map((attribute): [string, string] => {
      const [type, value] = readElements(attribute.content);
      if (type?.tag !== derTags.oid || value === undefined) throw new Error('a name attribute is malformed');
      return [oidText(type.content), stringOf(value)];
    }),
  );
}

function readExtensions(field: DerElement | undefined): Extension[] {
  if (field === undefined) return [];
  const extensions = readElements(readOne(field.content, derTags.sequence).content).map((item): Extension => {
    const parts = readElements(item.content);
    const [id, second] = parts;
    const value = parts.at(-1);
    if (id?.tag !== derTags.oid || value?.tag !== derTags.octetString) throw new Error('an extension is malformed');
    const critical = second?.tag === derTags.boolean && booleanOf(second.content);
    return { oid: oidText(id.content), critical, value: value.content };
  });
  if (new Set(extensions.map(({ oid }) => oid)).size < extensions.length)
    throw new Error('an extension is there twice');
  return extensions;
}

function basicConstraints(value: Uint8Array | undefined): { ca: boolean; pathLength: number | undefined } {
  if (value === undefined) return { ca: false, pathLength: undefined };
  const parts = readElements(readOne(value, derTags.sequence).content);
  const flag = parts.find(({ tag }) => tag === derTags.boolean);
  const limit = parts.find(({ tag }) => tag === derTags.integer);
  return {
    ca: flag !== undefined && booleanOf(flag.content),
    pathLength: limit === undefined ? undefined : smallIntegerOf(limit.content),
  };
}

/** keyCertSign is bit 5 of the key usage. A certificate without the key usage extension may sign others. */
function maySignCertificates(value: Uint8Array | undefined): boolean {
  if (value === undefined) return true;
  const [, flags = 0] = readOne(value, derTags.bitString).content;
  return (flags & 0x04) !== 0;
}

function extendedKeyUsages(value: Uint8Array | undefined): string[] | undefined {
  if (value === undefined) return undefined;
  return readElements(readOne(value, derTags.sequence).content).map(({ content }) => oidText(content));
}

function isSound(algorithm: DerElement): boolean {
  const [id, parameters] = readElements(algorithm.content);
  if (id?.tag !== derTags.oid) throw new Error('the signature algorithm is malformed');
  const oid = oidText(id.content);
  if (oid !== rsaPssOid) return soundAlgorithms.has(oid);
  // RSASSA-PSS names its digest in the field with tag [0]; if it is missing, the digest is SHA-1.
  const digest = parameters && readElements(parameters.content).find(({ tag }) => tag === 0xa0);
  if (digest === undefined) return false;
  const [name] = readElements(readOne(digest.content, derTags.sequence).content);
  return name?.tag === derTags.oid && soundDigests.has(oidText(name.content));
}
