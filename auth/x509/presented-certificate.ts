// Verifies what a TLS peer presented against one pool of authorities, on every request against the present pool and
// clock (rule "certificates judged on every request"): the decision at the handshake may be out of date on resumed
// sessions and long connections. Each purpose has a pool and a judge of its own.
import { createHash } from 'node:crypto';
import { GatewayError } from '../../cache/model/errors.ts';
import { makeRecent } from '../../lib/recent.ts';
import { readCertificate } from './certificate.ts';
import type { Certificate } from './certificate.ts';
import { findChains, parseCaBundle } from './certificate-chain.ts';
import type { CertificatePool, VerifiedChain } from './certificate-chain.ts';

/** Judges certificates by one pool of authorities, and remembers the chains that it has found. */
export interface CertificateJudge {
  /**
   * The leaf, when a chain from it to the pool is valid now; the same object for the same certificate until the pool is
   * replaced.
   * @param presented DER, leaf first, not empty; the same array for every request of a connection is judged fastest
   * @throws GatewayError UNAUTHENTICATED
   */
  judge(presented: readonly Uint8Array[]): Certificate;
  /**
   * Replaces the whole pool. It counts from the next request, on old connections, too.
   * @throws GatewayError INVALID when the bundle cannot be read; the old pool stays
   */
  replaceCa(pem: string): void;
}

/** What a judge depends on. */
export interface CertificateJudgeOptions {
  /** PEM bundle of trusted authorities (or of single client certificates). */
  readonly caPem: string;
  /** Name of the bundle for messages. */
  readonly caFile: string;
  /** Unix milliseconds of now. */
  readonly now?: () => number;
}

/** The chains of presented certificates, before any look at the clock; a pure function of them and the pool. */
interface Judgement {
  readonly chains: readonly VerifiedChain[];
  readonly leaf: Certificate | undefined;
  /** Why there is no chain. */
  readonly fault: string;
}

/** A handshake carries few certificates; more would only cost work before the caller is known. */
const maxPresented = 20;
const rememberedJudgements = 10_000;
/** How many leaves have their intermediates remembered; each was once accepted with them. */
const rememberedCompanions = 1_000;

/** @throws GatewayError INVALID when the bundle cannot be read */
export function makeCertificateJudge(options: CertificateJudgeOptions): CertificateJudge {
  const now = options.now ?? Date.now;
  let pool = parseCaBundle(options.caPem, options.caFile);
  const judgements = makeRecent<Judgement>({ maxEntries: rememberedJudgements });
  const companions = makeRecent<readonly Uint8Array[]>({ maxEntries: rememberedCompanions });
  // A connection presents its certificates once. The array is the key, so that no request hashes them again.
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
    // OpenSSL keeps only the leaf in a TLS session, so a resumed connection comes without the intermediates it once
    // showed.
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

/** Written so that an invalid date (NaN) refuses. */
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

/** Over lengths and bytes, so that no two lists of certificates share a digest. */
function digestOf(presented: readonly Uint8Array[]): string {
  const hash = createHash('sha256');
  for (const der of presented) hash.update(`${der.length}:`).update(der);
  return hash.digest('base64');
}
