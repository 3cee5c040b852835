// The section of the configuration about what the index keeps. Without any of these flags there is an index as well,
// but it starts with the first question, so that a gateway nobody searches asks no member for anything.
import { z } from 'zod';
import { isRightsChoice } from '../../search/rights/modes.ts';
import type { RightsChoice } from '../../search/rights/modes.ts';
import { isIndexIdentity } from '../../search/sync/index-identity.ts';
import type { IndexIdentity } from '../../search/sync/index-identity.ts';
import { makeSelection, parseResources, splitResources } from '../../search/sync/discover/selection.ts';
import { parseAllowedSubresources } from '../api/index/index-subresources.ts';
import type { AllowedSubresources } from '../api/index/index-subresources.ts';
import { parseDuration } from '../../lib/duration.ts';
import { parseSize } from './limits-config.ts';
import type { Fault } from './values.ts';

/** What is indexed, and how. */
export interface IndexConfig {
  /** `pods`, `deployments.apps`, `*`; undefined: the common kinds. */
  readonly resources: readonly string[] | undefined;
  /** Names, or a label selector; undefined: all. */
  readonly clusters: string | undefined;
  /** Most bytes on disk; Infinity for no limit. */
  readonly maxBytes: number;
  readonly rightsMaxAgeMs: number;
  /** Who decides what a caller sees of a cluster without a label about that; undefined: auto. */
  readonly rights?: RightsChoice;
  /** The identity that reads members; undefined: auto. */
  readonly readAs?: IndexIdentity;
  /** Subresources that are forwarded below Clusterpedia's paths; undefined: none. */
  readonly forwardedSubresources?: AllowedSubresources;
  /** Where it is kept; undefined: `index` in the data dir. */
  readonly folder?: string;
  /**
   * Whether it starts with the gateway. Otherwise the first question starts it, or an index that is on disk already.
   */
  readonly startsAtOnce: boolean;
}

/** What a person may write. */
export interface IndexInput {
  readonly indexResources?: string | readonly string[];
  readonly indexClusters?: string;
  readonly indexMaxBytes?: string | number;
  readonly indexRightsMaxAge?: string;
  readonly indexRights?: string;
  readonly indexIdentity?: string;
  readonly allowedProxySubresources?: string | readonly string[];
}

const text = z.string().min(1);

/** The same in the configuration file. */
export const indexFileFields = {
  indexResources: z.union([z.string(), z.array(text)]).optional(),
  indexClusters: text.optional(),
  indexMaxBytes: z.union([z.number().int().min(0), text]).optional(),
  indexRightsMaxAge: text.optional(),
  indexRights: text.optional(),
  indexIdentity: text.optional(),
  allowedProxySubresources: z.union([z.string(), z.array(text)]).optional(),
};

/** The defaults. */
export const indexDefaults = { indexRightsMaxAge: '10m' } as const satisfies IndexInput;

const leastBytes = 16 * 1024 ** 2;

/**
 * Reads the section; undefined when there is to be no index at all (`--index-resources none`).
 * @param given flags over file
 */
export function readIndexConfig(
  given: IndexInput & { readonly identity?: string | undefined; readonly importPolicies?: boolean | undefined },
  fault: Fault,
): IndexConfig | undefined {
  const written = given.indexResources;
  const resources = typeof written === 'string' ? splitResources(written) : written;
  if (resources?.length === 1 && resources[0] === 'none') return undefined;
  if (resources?.length === 0)
    fault('--index-resources', 'names nothing; give resources such as pods,deployments.apps, or "*", or "none"');
  attempt('--index-resources', fault, () => parseResources(resources ?? []));
  attempt('--index-clusters', fault, () => makeSelection(undefined, given.indexClusters));
  const forwarded = given.allowedProxySubresources;
  const forwardedSubresources = attempt('--allowed-proxy-subresources', fault, () =>
    forwarded === undefined ? undefined : parseAllowedSubresources(String(forwarded)),
  );
  return Object.freeze({
    resources,
    clusters: given.indexClusters,
    maxBytes: readMaxBytes(given.indexMaxBytes, fault),
    rightsMaxAgeMs: readRightsMaxAge(given.indexRightsMaxAge ?? indexDefaults.indexRightsMaxAge, fault),
    ...readRights(given.indexRights, fault),
    ...readIdentity(given, fault),
    ...(forwardedSubresources === undefined ? {} : { forwardedSubresources }),
    // Imported clusters are to be followed without a question.
    startsAtOnce: resources !== undefined || given.indexClusters !== undefined || given.importPolicies === true,
  });
}

function readMaxBytes(written: string | number | undefined, fault: Fault): number {
  if (written === undefined || String(written) === '0') return Infinity;
  const bytes = parseSize(String(written));
  if (bytes === undefined || bytes < leastBytes)
    fault('--index-max-bytes', `"${written}" is no size of at least 16Mi, for example 512Mi or 20Gi`);
  return bytes ?? Infinity;
}

function readRightsMaxAge(written: string, fault: Fault): number {
  const ageMs = parseDuration(written);
  if (ageMs === undefined || ageMs < 1000 || ageMs > 86_400_000)
    fault('--index-rights-max-age', `"${written}" is no duration from 1s to 24h, for example 10m`);
  return ageMs ?? 0;
}

function readRights(written: string | undefined, fault: Fault): Pick<IndexConfig, 'rights'> {
  if (written === undefined) return {};
  if (isRightsChoice(written)) return { rights: written };
  fault('--index-rights', `"${written}" is none of auto, rbac and review`);
  return {};
}

function readIdentity(
  { indexIdentity, identity }: IndexInput & { readonly identity?: string | undefined },
  fault: Fault,
): Pick<IndexConfig, 'readAs'> {
  if (indexIdentity === undefined) return {};
  if (indexIdentity === 'impersonate' && identity === 'self')
    fault('--index-identity', 'not impersonate with --identity self, which impersonates nobody');
  if (isIndexIdentity(indexIdentity)) return { readAs: indexIdentity };
  fault('--index-identity', `"${indexIdentity}" is none of auto, impersonate and self`);
  return {};
}

/** Reads a value; what the reading throws is a fault of the flag. */
function attempt<T>(flag: string, fault: Fault, read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    fault(flag, error instanceof Error ? error.message : 'cannot be read');
    return undefined;
  }
}
