// The section of the configuration about the index, which lets users search objects of all clusters. Without any of
// these flags, the index starts with the first request to it. So a gateway on which nobody searches sends no lists or
// watches for the index to the clusters.
import { z } from 'zod';
import { readDefinition } from '../../search/collections/definitions.ts';
import type { CollectionDefinition } from '../../search/collections/definitions.ts';
import { isRightsChoice } from '../../rights/modes.ts';
import type { RightsChoice } from '../../rights/modes.ts';
import { isIndexIdentity } from '../../sync/index-identity.ts';
import type { IndexIdentity } from '../../sync/index-identity.ts';
import { splitIndexResources } from '../../lib/rights/index-rules.ts';
import { makeSelection, parseResources } from '../../sync/discover/selection.ts';
import type { IndexRule } from '../../sync/discover/selection.ts';
import { parseAllowedSubresources } from '../../request/index-subresources.ts';
import type { AllowedSubresources } from '../../request/index-subresources.ts';
import { parseDuration } from '../../lib/duration.ts';
import { indexStoreFileFields } from './index-store-config.ts';
import type { IndexStoreConfig } from './index-store-config.ts';
import { parseSize } from './limits-config.ts';
import type { Fault, Given } from '../values/values.ts';

/** Settings of the index: what it holds, and who may see it. */
export interface IndexConfig {
  /**
   * Resources to index: `pods`, `deployments.apps` or `*` for all; undefined means a built-in list of common resources.
   */
  readonly resources: readonly string[] | undefined;
  /** Names of the clusters to index, or a label selector for them; undefined means all clusters. */
  readonly clusters: string | undefined;
  /** Rules that narrow what the index holds, for all clusters or for some. */
  readonly rules?: readonly IndexRule[];
  /** Collections that the configuration file defines. */
  readonly collections?: readonly CollectionDefinition[];
  /** Maximum size on disk, in bytes; Infinity for no limit. */
  readonly maxBytes: number;
  readonly rightsMaxAgeMs: number;
  /**
   * How the index decides which rows of a cluster a caller may see; a label of the cluster overrides this setting.
   * Undefined means `auto`.
   */
  readonly rights?: RightsChoice;
  /** The identity with which the index reads objects from clusters; undefined means `auto`. */
  readonly readAs?: IndexIdentity;
  /**
   * Subresources (such as pods/log) below Clusterpedia's paths that are forwarded to clusters; undefined means none.
   */
  readonly forwardedSubresources?: AllowedSubresources;
  /** Where the index is stored; undefined means the folder `index` in the data directory. */
  readonly folder?: string;
  /** The PostgreSQL that holds the index; undefined means SQLite in the folder. */
  readonly store?: IndexStoreConfig;
  /**
   * True when the index starts together with the gateway. When false, the index starts with the first request to it, or
   * together with the gateway if its data is already on disk.
   */
  readonly startsAtOnce: boolean;
}

const text = z.string().min(1);
const entries = z.union([z.string(), z.array(text).readonly()]);
const resourceType = z.strictObject({
  group: z.string().optional(),
  version: z.string().optional(),
  kind: z.string().optional(),
  resource: text,
});

/** Schema of the index settings in the configuration file. */
export const indexFileFields = {
  indexResources: z.union([z.string(), z.array(text).readonly()]).optional(),
  indexClusters: text.optional(),
  indexExclude: entries.optional(),
  indexRules: z
    .array(
      z.strictObject({
        clusters: text.optional(),
        exclude: entries.optional(),
        select: entries.optional(),
        prune: entries.optional(),
      }),
    )
    .readonly()
    .optional(),
  indexCollections: z
    .array(z.strictObject({ name: text, resourceTypes: z.array(resourceType).readonly() }))
    .readonly()
    .optional(),
  indexMaxBytes: z.union([z.number().int().min(0), text]).optional(),
  indexRightsMaxAge: text.optional(),
  indexRights: text.optional(),
  indexIdentity: text.optional(),
  ...indexStoreFileFields,
  allowedProxySubresources: z.union([z.string(), z.array(text).readonly()]).optional(),
};

/** The index settings as the operator wrote them, before they are checked. */
export type IndexInput = Given<typeof indexFileFields>;

/** Defaults of the index settings. */
export const indexDefaults = { indexRightsMaxAge: '10m' } as const satisfies IndexInput;

const leastBytes = 16 * 1024 ** 2;

/**
 * Checks the index settings; undefined when the index is switched off (`--index-resources none`). `fault` is called for
 * each setting that is wrong.
 * @param given value of the flag, or of the configuration file when the flag is absent
 * @param store the database that holds the index; undefined for SQLite
 */
export function readIndexConfig(
  given: IndexInput & {
    readonly identity?: string | undefined;
    readonly importPolicies?: boolean | undefined;
    readonly karmadaSearch?: string | undefined;
  },
  fault: Fault,
  store?: IndexStoreConfig,
): IndexConfig | undefined {
  const written = given.indexResources;
  const resources = typeof written === 'string' ? splitIndexResources(written) : written;
  if (resources?.length === 1 && resources[0] === 'none') {
    if (given.karmadaSearch !== undefined) fault('--karmada-search', 'needs an index; remove --index-resources none');
    return undefined;
  }
  if (resources?.length === 0)
    fault('--index-resources', 'is empty; give resources such as pods,deployments.apps, or "*", or "none"');
  if (store !== undefined && given.indexMaxBytes !== undefined)
    fault('--index-max-bytes', 'works only with SQLite: limit the size of a PostgreSQL database in PostgreSQL');
  attempt('--index-resources', fault, () => parseResources(resources ?? []));
  attempt('--index-clusters', fault, () => makeSelection(undefined, given.indexClusters));
  const rules = readRules(given, fault);
  const collections = readCollections(given.indexCollections ?? [], fault);
  const forwarded = given.allowedProxySubresources;
  const forwardedSubresources = attempt('--allowed-proxy-subresources', fault, () =>
    forwarded === undefined ? undefined : parseAllowedSubresources(String(forwarded)),
  );
  return Object.freeze({
    resources,
    clusters: given.indexClusters,
    rules,
    collections,
    maxBytes: readMaxBytes(given.indexMaxBytes, fault),
    rightsMaxAgeMs: readRightsMaxAge(given.indexRightsMaxAge ?? indexDefaults.indexRightsMaxAge, fault),
    ...readRights(given.indexRights, fault),
    ...readIdentity(given, fault),
    ...(forwardedSubresources === undefined ? {} : { forwardedSubresources }),
    ...(store === undefined ? {} : { store }),
    // Clusters that policies import, or that ResourceRegistries select, must be indexed before the first request asks
    // for them.
    startsAtOnce:
      resources !== undefined ||
      given.indexClusters !== undefined ||
      given.importPolicies === true ||
      given.karmadaSearch !== undefined ||
      store !== undefined,
  });
}

function readRules({ indexExclude, indexRules = [] }: IndexInput, fault: Fault): readonly IndexRule[] {
  const listed = (written: string | readonly string[] | undefined): readonly string[] | undefined =>
    typeof written === 'string' ? splitIndexResources(written) : written;
  const all = listed(indexExclude);
  const some = indexRules.map(({ clusters, exclude, select, prune }) => ({
    clusters,
    exclude: listed(exclude),
    select: listed(select),
    prune: listed(prune),
  }));
  if (all !== undefined)
    attempt('--index-exclude', fault, () => makeSelection(undefined, undefined, [{ exclude: all }]));
  attempt('indexRules', fault, () => makeSelection(undefined, undefined, some));
  return [...(all === undefined ? [] : [{ exclude: all }]), ...some];
}

function readCollections(
  written: NonNullable<IndexInput['indexCollections']>,
  fault: Fault,
): readonly CollectionDefinition[] {
  const read = written.flatMap(
    ({ name, resourceTypes }) => attempt('indexCollections', fault, () => readDefinition(name, resourceTypes)) ?? [],
  );
  const names = read.map(({ name }) => name);
  const twice = names.find((name, at) => names.indexOf(name) < at);
  if (twice !== undefined) fault('indexCollections', `the collection "${twice}" is defined twice`);
  return read;
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
  fault('--index-rights', `"${written}" is not one of auto, rbac and review`);
  return {};
}

function readIdentity(
  { indexIdentity, identity }: IndexInput & { readonly identity?: string | undefined },
  fault: Fault,
): Pick<IndexConfig, 'readAs'> {
  if (indexIdentity === undefined) return {};
  if (indexIdentity === 'impersonate' && identity === 'self')
    fault('--index-identity', 'must not be "impersonate" with --identity=self, which impersonates nobody');
  if (isIndexIdentity(indexIdentity)) return { readAs: indexIdentity };
  fault('--index-identity', `"${indexIdentity}" is not one of auto, impersonate and self`);
  return {};
}

/** Runs `read`; when it throws, the error's message is reported as a fault of the flag and undefined is returned. */
function attempt<T>(flag: string, fault: Fault, read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    fault(flag, error instanceof Error ? error.message : 'cannot be read');
    return undefined;
  }
}
