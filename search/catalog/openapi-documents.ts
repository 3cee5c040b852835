// Chooses the cluster whose OpenAPI document of a group and version a caller gets. Documents of member clusters are
// read with the index's identity and cached for all callers. The answer contains only types that this caller may see in
// that cluster.
import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Incarnation } from '../../query/types.ts';
import type { Warning } from '../answer/answer-body.ts';
import type { ServedType } from './catalog.ts';
import { parseOpenapi, partOf, root } from './openapi-part.ts';
import type { OpenapiPart } from './openapi-part.ts';
import type { MemberDocument, ReadDocument } from './openapi-members.ts';

/** The OpenAPI document of one group and version for one caller. */
export interface OpenapiDocument {
  readonly body: Buffer;
  /** A strong ETag, including its quotes. It changes with the warnings, too, since clients keep these with the body. */
  readonly etag: string;
  /** Warnings about types that the caller may see in other clusters, and that are missing in the document. */
  readonly warnings: readonly Warning[];
}

/** The OpenAPI documents of the index. */
export interface OpenapiDocuments {
  /**
   * Reads the document for one caller. It is that of the cluster with the newest Kubernetes version; in a group with
   * custom types that of the cluster with the most types, since the age of their schemas cannot be compared between
   * clusters. Between clusters that are equal in this, the other of the two measures decides, and then the cluster's
   * name, so that the same clusters always give the same document. The next cluster follows when a document cannot be
   * read.
   * @param having the types of the group and version that the caller may see, once for each cluster
   * @returns undefined when no cluster could describe any of the types
   */
  document(group: string, version: string, having: readonly ServedType[]): Promise<OpenapiDocument | undefined>;
}

/**
 * How many clusters are asked at the same time: first the preferred one alone, which most often answers, then more. So
 * a caller waits at most four times for clusters that do not answer.
 */
const askedAtOnce = [1, 7, 8, 8] as const;
const answersBytes = 24 * 1024 * 1024;

interface Answer extends Pick<OpenapiPart, 'resources'>, Pick<OpenapiDocument, 'body'> {
  readonly digest: string;
}

/**
 * Makes the function for OpenAPI documents, with its cache.
 * @param versionOf returns the `gitVersion` of a member cluster; '' when it is not known
 */
export function makeOpenapiDocuments(
  read: ReadDocument,
  versionOf: (incarnation: Incarnation) => string,
): OpenapiDocuments {
  const answers = new LRUCache<string, Answer>({
    maxSize: answersBytes,
    sizeCalculation: ({ body }) => body.length + 1,
  });

  function answerOf({ digest, text }: MemberDocument, group: string, version: string, names: string[]): Answer {
    const key = JSON.stringify([root(group, version), digest, names]);
    let answer = answers.get(key);
    if (answer === undefined) answers.set(key, (answer = makeAnswer(text, group, version, names)));
    return answer;
  }

  return {
    async document(group, version, having) {
      const holders = holdersOf(having, versionOf);
      let from = 0;
      for (const count of askedAtOnce) {
        const asked = holders.slice(from, (from += count)).map(({ incarnation, names }) => ({
          incarnation,
          names,
          reading: read(incarnation, `/openapi/v3${root(group, version)}`),
        }));
        for (const { incarnation, names, reading } of asked) {
          const document = await reading;
          const answer = document && answerOf(document, group, version, names);
          if (answer === undefined || answer.resources.size === 0) continue;
          const warnings = warningsOf(incarnation, answer.resources, holders);
          const etag = `"${digestOf(JSON.stringify([answer.digest, warnings]))}"`;
          return { body: answer.body, etag, warnings };
        }
      }
      return undefined;
    },
  };
}

/**
 * Used in place of a document that is not OpenAPI, so that another cluster's document is taken. It describes no type.
 */
const nothing: Answer = { body: Buffer.alloc(0), digest: '', resources: new Set() };

function makeAnswer(text: Buffer, group: string, version: string, names: readonly string[]): Answer {
  try {
    const { document, resources } = partOf(parseOpenapi(text), group, version, names);
    const body = Buffer.from(`${JSON.stringify(document)}\n`);
    return { body, digest: digestOf(body), resources };
  } catch {
    return nothing;
  }
}

function digestOf(text: Buffer | string): string {
  return createHash('sha256').update(text).digest('hex').toUpperCase();
}

/** A cluster, and the plural names of its types that the caller may see, sorted. */
interface Holder {
  readonly incarnation: Incarnation;
  readonly names: string[];
}

/** The clusters in the order in which their documents are preferred. */
function holdersOf(having: readonly ServedType[], versionOf: (incarnation: Incarnation) => string): readonly Holder[] {
  const isCustom = having.some(({ type }) => type.printerColumns !== undefined);
  const { compare } = new Intl.Collator('en', { numeric: true });
  return [...Map.groupBy(having, ({ incarnation }) => incarnation.id).values()]
    .map((types) => {
      const { incarnation } = types[0]!;
      const names = types.map(({ type }) => type.resource).toSorted();
      // `v1.36.3+k3s1` counts as 1.36.3. Any other text counts as the oldest.
      return { incarnation, names, version: /^v?(\d+\.\d+(?:\.\d+)?)/.exec(versionOf(incarnation))?.[1] ?? '' };
    })
    .toSorted((one, other) => {
      const byVersion = compare(other.version, one.version);
      const byTypes = other.names.length - one.names.length;
      const byName = one.incarnation.cluster < other.incarnation.cluster ? -1 : 1;
      return (isCustom ? byTypes || byVersion : byVersion || byTypes) || byName;
    });
}

/** Names each type that the document lacks once, for the first cluster that has it. */
function warningsOf(
  { cluster: chosen }: Incarnation,
  resources: ReadonlySet<string>,
  holders: readonly Holder[],
): readonly Warning[] {
  const named = new Set(resources);
  return holders.flatMap(({ incarnation: { cluster }, names }) => {
    const lacking = names.filter((name) => !named.has(name));
    for (const name of lacking) named.add(name);
    const text = `has types that this OpenAPI document of cluster ${chosen} lacks; ask /clusters/${cluster}/proxy for`;
    return lacking.length === 0 ? [] : [{ cluster, text: `${text} ${lacking.join(', ')}` }];
  });
}
