// Verifies the certificates that a TLS client presented, on every request with the current authorities and time (rule
// "certificates judged on every request" in docs/rules.md). The result of the handshake may be outdated on resumed
// sessions and long connections. There is one CertificateJudge with the authorities for users, and one with those for
// front proxies.
import { createHash } from 'node:crypto';
import { GatewayError } from '../../model/errors.ts';
import { makeRecent } from '../../lib/recent.ts';
import { readCertificate } from './certificate.ts';
import type { Certificate } from './certificate.ts';
import { findChains, parseCaBundle } from './certificate-chain.ts';
import type { CertificatePool, VerifiedChain } from './certificate-chain.ts';

/** Verifies certificates with one pool of authorities, and caches the chains it has found. */
export interface CertificateJudge {
  /**
   * Returns the client's certificate if it has a chain to the pool that is valid now. The same certificate gives the
   * same object until the pool is replaced.
   * @param presented DER certificates, the client's own first, at least one. Pass the same array for all requests of a
   *   connection, because the cache uses it as its key.
   * @throws GatewayError UNAUTHENTICATED
   */
  judge(presented: readonly Uint8Array[]): Certificate;
  /**
   * Replaces all trusted authorities. This applies from the next request on, also on open connections.
   * @throws GatewayError INVALID when the bundle cannot be read; the previous pool is kept
   */
  replaceCa(pem: string): void;
}

/** Settings of a {@link CertificateJudge}. */
export interface CertificateJudgeOptions {
  /** PEM bundle of trusted certificate authorities; it may also contain single client certificates. */
  readonly caPem: string;
  /** Name of the file or object that `caPem` comes from, for error messages. */
  readonly caFile: string;
  /** Returns the current time in Unix milliseconds. */
  readonly now?: () => number;
}

/**
 * The chains of presented certificates, without regard to dates. A judgement depends only on the certificates and the
 * pool, so it can be cached.
 */
interface Judgement {
  readonly chains: readonly VerifiedChain[];
  readonly leaf: Certificate | undefined;
  /** Why there is no chain from the certificate to a trusted authority. */
  readonly fault: string;
}

/**
 * Maximum number of certificates that a client may present in a handshake; with more, its requests are refused, because
 * reading them would cost time before the caller is known.
 */
const maxPresented = 20;
const rememberedJudgements = 10_000;
/** For how many client certificates the intermediate certificates that came with them are cached. */
const rememberedCompanions = 1_000;

/**
 * Makes a {@link CertificateJudge}.
 * @throws GatewayError INVALID when the bundle cannot be read
 */
export function makeCertificateJudge(options: CertificateJudgeOptions): CertificateJudge {
  const now = options.now ?? Date.now;
  let pool = parseCaBundle(options.caPem, options.caFile);
  const judgements = makeRecent<Judgement>({ maxEntries: rememberedJudgements });
  const companions = makeRecent<readonly Uint8Array[]>({ maxEntries: rememberedCompanions });
  // Cache for each connection: the array of its presented certificates is the key, so that they are not hashed for
  // every request.
  let ofConnection = new WeakMap<readonly Uint8Array[], Judgement>();

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
  const judgeWhole = (presented: readonly Uint8Array[]): Judgement => {
    const judgement = judgeOnce(presented);
    if (judgement.chains.length > 0 || presented.length > 1) return judgement;
    // OpenSSL stores only the client's own certificate in a TLS session, so a resumed connection comes without
    // intermediates. Those cached from an earlier, accepted connection are used.
    const others = companions.get(digestOf(presented));
    return others === undefined ? judgement : judgeOnce([...presented, ...others]);
  };

  return {
    judge: (presented) => {
      let judgement = ofConnection.get(presented);
      if (judgement === undefined) {
        judgement = judgeWhole(presented);
        ofConnection.set(presented, judgement);
      }
      const { chains, leaf, fault } = judgement;
      if (leaf === undefined || chains.length === 0) throw new GatewayError('UNAUTHENTICATED', fault);
      refuseWhenNoneIsValid(chains, now());
      return leaf;
    },
    replaceCa: (pem) => {
      pool = parseCaBundle(pem, options.caFile);
      judgements.clear();
      ofConnection = new WeakMap();
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
  return chains.length === 0 ? refused(`the client certificate is not accepted: ${fault}`) : { chains, leaf, fault };
}

function refused(fault: string): Judgement {
  return { chains: [], leaf: undefined, fault };
}

/**
 * Throws unless a chain is valid now. The comparison is written so that a chain with an invalid date (NaN) counts as
 * not valid.
 */
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

/** Hashes lengths and bytes, so that different lists of certificates never have the same input. */
function digestOf(presented: readonly Uint8Array[]): string {
  const hash = createHash('sha256');
  for (const der of presented) hash.update(`${der.length}:`).update(der);
  return hash.digest('base64');
}
