// The section of the configuration about the index, which lets users search objects of all clusters. Without any of
// these flags, the index starts with the first request to it. So a gateway on which nobody searches sends no lists or
// watches for the index to the clusters.
import { z } from 'zod';
import { readDefinition } from '../../search/collections/definitions.ts';
import type { CollectionDefinition } from '../../search/collections/definitions.ts';
import type { RightsChoice } from '../../rights/modes.ts';
import type { IndexIdentity } from '../../sync/index-identity.ts';
import { splitIndexResources } from '../../lib/rights/index-rules.ts';
import { makeSelection, parseResources } from '../../sync/discover/selection.ts';
import type { IndexRule } from '../../sync/discover/selection.ts';
import { parseAllowedSubresources } from '../../request/index-subresources.ts';
import type { AllowedSubresources } from '../../request/index-subresources.ts';
import { duration, list, oneOf, onOff, size, text } from '../settings/kinds.ts';
import { isWritten, readSettings } from '../settings/settings.ts';
import type { Fault, Kind, Settings, Values, Written } from '../settings/settings.ts';
import { importSettings } from '../controllers/import-config.ts';
import type { IndexStoreConfig } from './index-store-config.ts';

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
  /** Whether requests may have Clusterpedia's `whereSQL`; undefined means no. */
  readonly allowsWhereSql?: boolean;
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

const nonEmpty = z.string().min(1);
const entries = z.union([z.string(), z.array(nonEmpty).readonly()]);
const rules = z
  .array(
    z.strictObject({
      clusters: nonEmpty.optional(),
      exclude: entries.optional(),
      select: entries.optional(),
      prune: entries.optional(),
    }),
  )
  .readonly();
const collections = z
  .array(
    z.strictObject({
      name: nonEmpty,
      resourceTypes: z
        .array(
          z.strictObject({
            group: z.string().optional(),
            version: z.string().optional(),
            kind: z.string().optional(),
            resource: nonEmpty,
          }),
        )
        .readonly(),
    }),
  )
  .readonly();

/** A list of resources; commas within braces and parentheses do not separate. */
const resources: Kind<readonly string[]> = { ...list(() => undefined, splitIndexResources), placeholder: '<list>' };
const indexBytes = size('16Mi', '512Mi or 20Gi');
/** A size; 0 means no limit. */
const indexLimit: Kind<number> = {
  ...indexBytes,
  read: (written, place) => (String(written) === '0' ? Infinity : indexBytes.read(written, place)),
};

/** The settings of the index. */
export const indexSettings = {
  indexResources: {
    kind: resources,
    otherwise: 'the common workload, configuration and RBAC kinds, once somebody asks',
    text: 'what is indexed, such as `pods,deployments.apps`; `*` for everything that can be watched but events and leases, `none` for no index',
  },
  indexClusters: {
    kind: text,
    placeholder: '<list>',
    otherwise: 'all',
    text: 'names of the clusters that are indexed, or a label selector',
  },
  indexExclude: {
    kind: resources,
    otherwise: 'nothing',
    text: 'what is not indexed of any cluster: [entries](index.md#what-is-left-out) such as `secrets,*.example.org,pods{namespaces=a b},*{namespaces=kube-system}`; annotations of a cluster can leave out more',
  },
  indexRules: {
    kind: asWritten(rules),
    hasNoFlag: true,
    otherwise: 'none',
    text: 'list of `clusters` (names or a label selector; all when absent), `exclude`, `select`, `prune`',
  },
  indexCollections: {
    kind: asWritten(collections),
    hasNoFlag: true,
    otherwise: 'none',
    text: 'list of `name` and `resourceTypes`: [collections](index.md#collections)',
  },
  indexMaxBytes: {
    kind: indexLimit,
    otherwise: 'no limit',
    text: 'what the index may take on disk, `512Mi` or `20Gi`',
  },
  indexRightsMaxAge: {
    kind: duration({ least: '1s', most: '24h', example: '10m' }),
    default: '10m',
    text: "how long a cluster's RBAC may decide after the cluster last confirmed it; then its rows are hidden",
  },
  indexRights: {
    kind: oneOf<RightsChoice>('auto', 'rbac', 'review'),
    otherwise: '`auto`',
    text: 'who decides what is seen of a cluster without the label `search.portcullis.io/rights`: its mirrored RBAC, its answers to SubjectAccessReviews, or the first unless it has other authorizers',
  },
  indexIdentity: {
    kind: oneOf<IndexIdentity>('auto', 'impersonate', 'self'),
    otherwise: '`auto`',
    text: "as whom clusters are read for the index: `impersonate` (as `portcullis:index`), `self` (as the gateway's own credential), or the second where the first is refused",
  },
  allowedProxySubresources: {
    kind: list(undefined, (written) => written.split(',')),
    placeholder: '<list>',
    otherwise: 'nothing',
    text: "what Clusterpedia's paths of one cluster forward to it, as the caller: `pods/log`, `exec`",
  },
  indexAllowWhereSql: {
    kind: onOff,
    default: false,
    text: "take [conditions in SQL's notation](index.md#wheresql) from requests, as Clusterpedia does with its gates AllowRawSQLQuery and AllowParameterizedSQLQuery; what they contain is parsed, and never sent to a database",
  },
} satisfies Settings;

/** A value that only the configuration file can hold, checked by its schema. */
function asWritten<T>(file: z.ZodType<T>): Kind<T> {
  return { placeholder: '<list>', file, read: (written) => written as T };
}

/**
 * Reads the index settings; undefined when the index is switched off (`--index-resources none`). `written.fault` is
 * called for each setting that is wrong.
 * @param isSelf true for `--identity=self`, in which the gateway impersonates nobody
 * @param store the database that holds the index; undefined for SQLite
 */
export function readIndexConfig(written: Written, isSelf = false, store?: IndexStoreConfig): IndexConfig | undefined {
  const { fault } = written;
  const given = readSettings(indexSettings, written);
  const { indexResources: wanted, indexClusters: clusters, indexRights: rights, indexIdentity: readAs } = given;
  if (wanted?.length === 1 && wanted[0] === 'none') {
    if (isWritten(written, 'karmadaSearch')) fault('--karmada-search', 'needs an index; remove --index-resources none');
    return undefined;
  }
  refuseTogether(given, isSelf, store, fault);
  attempt('--index-resources', fault, () => parseResources(wanted ?? []));
  attempt('--index-clusters', fault, () => makeSelection(undefined, clusters));
  const forwarded = given.allowedProxySubresources;
  const forwardedSubresources = attempt('--allowed-proxy-subresources', fault, () =>
    forwarded === undefined ? undefined : parseAllowedSubresources(String(forwarded)),
  );
  return Object.freeze({
    resources: wanted,
    clusters,
    rules: rulesOf(given, fault),
    collections: collectionsOf(given.indexCollections ?? [], fault),
    maxBytes: given.indexMaxBytes ?? Infinity,
    rightsMaxAgeMs: given.indexRightsMaxAge,
    ...(rights === undefined ? {} : { rights }),
    ...(readAs === undefined ? {} : { readAs }),
    ...(given.indexAllowWhereSql ? { allowsWhereSql: true } : {}),
    ...(forwardedSubresources === undefined ? {} : { forwardedSubresources }),
    ...(store === undefined ? {} : { store }),
    // Clusters that policies import, or that ResourceRegistries select, must be indexed before the first request asks
    // for them.
    startsAtOnce:
      store !== undefined ||
      ['indexResources', 'indexClusters', 'karmadaSearch'].some((name) => isWritten(written, name)) ||
      readSettings(importSettings, { ...written, fault: () => undefined }).importPolicies,
  });
}

function refuseTogether(
  { indexResources, indexMaxBytes, indexIdentity }: Values<typeof indexSettings>,
  isSelf: boolean,
  store: IndexStoreConfig | undefined,
  fault: Fault,
): void {
  if (indexResources?.length === 0)
    fault('--index-resources', 'is empty; give resources such as pods,deployments.apps, or "*", or "none"');
  if (store !== undefined && indexMaxBytes !== undefined)
    fault('--index-max-bytes', 'works only with SQLite: limit the size of a PostgreSQL database in PostgreSQL');
  if (indexIdentity === 'impersonate' && isSelf)
    fault('--index-identity', 'must not be "impersonate" with --identity=self, which impersonates nobody');
}

function rulesOf(
  { indexExclude: all, indexRules = [] }: Values<typeof indexSettings>,
  fault: Fault,
): readonly IndexRule[] {
  const listed = (one: string | readonly string[] | undefined): readonly string[] | undefined =>
    typeof one === 'string' ? splitIndexResources(one) : one;
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

function collectionsOf(written: z.output<typeof collections>, fault: Fault): readonly CollectionDefinition[] {
  const read = written.flatMap(
    ({ name, resourceTypes }) => attempt('indexCollections', fault, () => readDefinition(name, resourceTypes)) ?? [],
  );
  const names = read.map(({ name }) => name);
  const twice = names.find((name, at) => names.indexOf(name) < at);
  if (twice !== undefined) fault('indexCollections', `the collection "${twice}" is defined twice`);
  return read;
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
