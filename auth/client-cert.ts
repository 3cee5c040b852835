// Users from TLS client certificates, by kube-apiserver's rules (apiserver:pkg/authentication/request/x509). Easy to get wrong: what the TLS
// library decided at the handshake says nothing now; the chain is judged against today's pool and the clock on every request, also on
// resumed sessions and connections that outlive the certificate (DESIGN rule 13).
import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { GatewayError } from '../cache/errors.ts';
import type { ErrorCode } from '../cache/errors.ts';
import { makeUser } from '../cache/user.ts';
import type { User } from '../cache/user.ts';
import type { Authenticator } from './authenticate.ts';
import { readCertificate } from './certificate.ts';
import type { Certificate } from './certificate.ts';
import { findChains, parseCaBundle } from './certificate-chain.ts';
import type { CertificatePool, VerifiedChain } from './certificate-chain.ts';

/** An authenticator whose trusted authorities can be swapped while requests run. */
export interface ClientCertificateAuthenticator {
  readonly authenticate: Authenticator;
  /**
   * Replaces the whole pool; the next request, on whatever connection, is judged by the new one.
   * @throws GatewayError INVALID when the bundle cannot be read; the old pool stays
   */
  replaceCa(pem: string): void;
}

/** What the authenticator depends on. */
export interface ClientCertificateOptions {
  /** PEM bundle of trusted authorities (or of single client certificates). */
  readonly caPem: string;
  /** Name of the bundle for messages. */
  readonly caFile: string;
  /** Unix milliseconds of now. */
  readonly now?: () => number;
}

/** All that can be known about presented certificates without a clock; a pure function of them and the pool. */
interface Judgement {
  readonly chains: readonly VerifiedChain[];
  readonly refusal: { readonly code: ErrorCode; readonly message: string } | undefined;
  readonly user: User | undefined;
}

/** A handshake carries few certificates; more only cost work before anybody is known. */
const maxPresented = 20;
const rememberedJudgements = 10_000;
/** Leaves whose intermediates are remembered; each was once accepted with them. */
const rememberedCompanions = 1_000;

/**
 * Recognises callers by certificate: CN is the name, every O a group. No certificate, or one without CN, is no opinion.
 * @throws GatewayError INVALID when the bundle cannot be read
 */
export function makeClientCertificateAuthenticator(options: ClientCertificateOptions): ClientCertificateAuthenticator {
  const now = options.now ?? Date.now;
  let pool = parseCaBundle(options.caPem, options.caFile);
  const judgements = new LRUCache<string, Judgement>({ max: rememberedJudgements });
  const companions = new LRUCache<string, readonly Uint8Array[]>({ max: rememberedCompanions });

  const judgeOnce = (presented: readonly Uint8Array[]): Judgement => {
    const key = digestOf(presented);
    const known = judgements.get(key);
    if (known !== undefined) return known;
    const judgement = judgePresented(presented, pool);
    judgements.set(key, judgement);
    if (judgement.chains.length > 0 && presented.length > 1) {
      companions.set(digestOf(presented.slice(0, 1)), presented.slice(1));
    }
    return judgement;
  };
  const judge = (presented: readonly Uint8Array[]): Judgement => {
    const judgement = judgeOnce(presented);
    if (judgement.chains.length > 0 || presented.length > 1) return judgement;
    // OpenSSL keeps only the leaf in a TLS session, so a resumed connection comes without the intermediates it once showed.
    const others = companions.get(digestOf(presented));
    return others === undefined ? judgement : judgeOnce([...presented, ...others]);
  };

  return {
    authenticate: ({ peerCertificates }) => {
      if (peerCertificates.length === 0) return undefined;
      const { chains, refusal, user } = judge(peerCertificates);
      if (chains.length > 0) refuseWhenNoneIsValid(chains, now());
      if (refusal !== undefined) throw new GatewayError(refusal.code, refusal.message);
      return user;
    },
    replaceCa: (pem) => {
      pool = parseCaBundle(pem, options.caFile);
      judgements.clear();
    },
  };
}

function judgePresented(presented: readonly Uint8Array[], pool: CertificatePool): Judgement {
  if (presented.length > maxPresented) return refused(`more than ${maxPresented} client certificates were presented`);
  let certificates: Certificate[];
  try {
    certificates = presented.map((der) => readCertificate(der));
  } catch {
    return refused('the client certificate cannot be read');
  }
  const [leaf, ...others] = certificates;
  if (leaf === undefined) return refused('no client certificate was presented');
  const { chains, fault } = findChains(leaf, others, pool);
  if (chains.length === 0) return refused(`the client certificate is not accepted: ${fault}`);
  try {
    return { chains, refusal: undefined, user: userOf(leaf) };
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return { chains, refusal: { code: error.code, message: error.message }, user: undefined };
  }
}

function refused(message: string): Judgement {
  return { chains: [], refusal: { code: 'UNAUTHENTICATED', message }, user: undefined };
}

/** Written so that a date that is not a number refuses. */
function refuseWhenNoneIsValid(chains: readonly VerifiedChain[], nowMs: number): void {
  if (chains.some(({ validFromMs, validToMs }) => validFromMs <= nowMs && nowMs <= validToMs)) return;
  const [{ validFromMs, validToMs } = { validFromMs: Number.NaN, validToMs: Number.NaN }] = chains;
  const state =
    nowMs < validFromMs ? `is not valid before ${dateText(validFromMs)}` : `expired at ${dateText(validToMs)}`;
  throw new GatewayError('UNAUTHENTICATED', `the client certificate, or one that signed it, ${state}`);
}

function dateText(timeMs: number): string {
  return Number.isNaN(timeMs) ? 'an unreadable date' : new Date(timeMs).toISOString();
}

/** @throws GatewayError UNAUTHENTICATED for more than one or an empty UID attribute, IDENTITY_REFUSED from makeUser */
function userOf(leaf: Certificate): User | undefined {
  if (leaf.commonName === '') return undefined;
  const [uid, ...more] = leaf.uids;
  if (more.length > 0) throw new GatewayError('UNAUTHENTICATED', 'the client certificate has more than one UID');
  if (uid === '') throw new GatewayError('UNAUTHENTICATED', 'the UID of the client certificate is empty');
  return makeUser({
    name: leaf.commonName,
    uid: uid ?? '',
    groups: leaf.organizations,
    extra: [['authentication.kubernetes.io/credential-id', [`X509SHA256=${leaf.fingerprint}`]]],
  });
}

/** Over lengths and bytes, so that no two lists of certificates share one. */
function digestOf(presented: readonly Uint8Array[]): string {
  const hash = createHash('sha256');
  for (const der of presented) hash.update(`${der.length}:`).update(der);
  return hash.digest('base64');
}
