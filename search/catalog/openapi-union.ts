// Makes the OpenAPI document of a group and version from all clusters that have types in it. Documents of member
// clusters are read with the index's identity and cached for all callers. The answer contains only types that this
// caller may see, taken only from clusters where the caller may see them.
import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Incarnation, TypeInfo } from '../../query/types.ts';
import type { Warning } from '../answer/answer-body.ts';
import type { ServedType } from './catalog.ts';
import { mergeOpenapi, parseOpenapi, root, surveyOpenapi } from './openapi-merge.ts';
import type { OpenapiSurvey } from './openapi-merge.ts';
import type { MemberDocument, ReadDocument } from './openapi-members.ts';

/** The OpenAPI document of one group and version, merged from several clusters for one caller. */
export interface UnionDocument {
  readonly body: Buffer;
  /** A strong ETag, including its quotes. */
  readonly etag: string;
  /** Warnings about types that are missing in the document, because no cluster with them can be reached. */
  readonly warnings: readonly Warning[];
}

/** Makes an OpenAPI document from parts of the documents of several clusters. */
export interface UnionOpenapi {
  /**
   * Makes the document for one caller. Each type is taken with its schemas from one cluster. A built-in type comes from
   * the cluster with the newest Kubernetes version. A custom type comes from the cluster whose schema has the most
   * fields, among at most 8 clusters. (The age of a CRD's schema cannot be compared between clusters.) If several
   * clusters are equal, the newer Kubernetes version decides, then the higher number of types, then the name. So the
   * same clusters always give the same document.
   * @param having the types of the group and version that the caller may see, once for each cluster
   * @returns undefined when no cluster could describe any of the types
   */
  document(group: string, version: string, having: readonly ServedType[]): Promise<UnionDocument | undefined>;
}

/** The schemas of a custom type are compared in at most this number of clusters. */
const mostCompared = 8;
/** Documents are read from at most this number of clusters for one answer. A type in none of them is left out. */
const mostAsked = 24;
const answersBytes = 24 * 1024 * 1024;
const mostSurveys = 2_000;

type Answer = Pick<UnionDocument, 'body' | 'etag'>;

/** The OpenAPI document of one cluster, with the resources and fields that were found in it. */
interface Surveyed extends MemberDocument {
  readonly survey: OpenapiSurvey;
}

/**
 * Makes the function for OpenAPI documents, with its caches.
 * @param versionOf returns the `gitVersion` of a member cluster; '' when it is not known
 */
export function makeUnionOpenapi(read: ReadDocument, versionOf: (incarnation: Incarnation) => string): UnionOpenapi {
  const surveys = new LRUCache<string, OpenapiSurvey>({ max: mostSurveys });
  const answers = new LRUCache<string, Answer>({
    maxSize: answersBytes,
    sizeCalculation: ({ body }) => body.length + 1,
  });

  function surveyed(
    document: MemberDocument | 'none' | 'unknown',
    group: string,
    version: string,
  ): Surveyed | undefined {
    if (document === 'none' || document === 'unknown') return undefined;
    const key = `${root(group, version)} ${document.digest}`;
    let survey = surveys.get(key);
    if (survey === undefined) {
      try {
        survey = surveyOpenapi(parseOpenapi(document.text), group, version);
      } catch {
        survey = { resources: new Set(), fields: new Map() };
      }
      surveys.set(key, survey);
    }
    return { ...document, survey };
  }

  return {
    async document(group, version, having) {
      const wishes = wishesOf(having, versionOf);
      const documents = new Map<string, Surveyed | undefined>();
      for (;;) {
        const next = nextToAsk(wishes, documents).slice(0, mostAsked - documents.size);
        if (next.length === 0) break;
        await Promise.all(
          next.map(async (incarnation) => {
            const document = await read(incarnation, `/openapi/v3${root(group, version)}`);
            documents.set(incarnation.id, surveyed(document, group, version));
          }),
        );
      }
      const { taken, warnings } = chosenOf(wishes, documents);
      if (taken.size === 0) return undefined;
      const key = JSON.stringify([root(group, version), [...taken].map(([{ digest }, names]) => [digest, names])]);
      let answer = answers.get(key);
      if (answer === undefined) {
        const parts = [...taken].map(([{ text }, resources]) => ({ document: parseOpenapi(text), resources }));
        const body = Buffer.from(`${JSON.stringify(mergeOpenapi(parts, group, version))}\n`);
        answer = { body, etag: `"${createHash('sha256').update(body).digest('hex').toUpperCase()}"` };
        answers.set(key, answer);
      }
      return { ...answer, warnings };
    },
  };
}

/** A type for the merged document, and the clusters whose document could describe it, in order of preference. */
interface Wish {
  readonly type: TypeInfo;
  readonly candidates: readonly Incarnation[];
}

function wishesOf(having: readonly ServedType[], versionOf: (incarnation: Incarnation) => string): readonly Wish[] {
  const counts = new Map<string, number>();
  for (const { incarnation } of having) counts.set(incarnation.id, (counts.get(incarnation.id) ?? 0) + 1);
  const rank = ({ incarnation }: ServedType): readonly number[] => [
    ...versionNumbers(versionOf(incarnation)),
    counts.get(incarnation.id)!,
  ];
  const compare = (one: ServedType, other: ServedType): number => {
    const others = rank(other);
    for (const [i, value] of rank(one).entries()) if (value !== others[i]) return others[i]! - value;
    return one.incarnation.cluster < other.incarnation.cluster ? -1 : 1;
  };
  return [...Map.groupBy(having.toSorted(compare), ({ type }) => type.resource)]
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([, stored]) => ({
      type: (stored.find(isCustom) ?? stored[0]!).type,
      candidates: stored.map(({ incarnation }) => incarnation),
    }));
}

/** The numbers of a version: `v1.36.3+k3s1` gives 1, 36, 3. Any other text gives zeros, so it counts as the oldest. */
function versionNumbers(version: string): readonly number[] {
  const [, ...numbers] = /^v?(\d+)\.(\d+)(?:\.(\d+))?/.exec(version) ?? [];
  return [0, 1, 2].map((i) => Number(numbers[i] ?? 0));
}

function isCustom({ type }: Pick<ServedType, 'type'>): boolean {
  return type.printerColumns !== undefined;
}

/** The clusters whose documents must be read next, until enough clusters describe each type. */
function nextToAsk(
  wishes: readonly Wish[],
  documents: ReadonlyMap<string, Surveyed | undefined>,
): readonly Incarnation[] {
  const next = new Map<string, Incarnation>();
  for (const wish of wishes) {
    let missing = isCustom(wish) ? mostCompared : 1;
    for (const incarnation of wish.candidates) {
      if (missing === 0) break;
      if (!documents.has(incarnation.id)) next.set(incarnation.id, incarnation);
      else if (!describes(documents.get(incarnation.id), wish)) continue;
      missing -= 1;
    }
  }
  return [...next.values()];
}

function describes(document: Surveyed | undefined, { type }: Wish): boolean {
  return document?.survey.resources.has(type.resource) === true;
}

/** Chooses the document from which each type is taken. Documents are sorted by the number of types, most first. */
function chosenOf(
  wishes: readonly Wish[],
  documents: ReadonlyMap<string, Surveyed | undefined>,
): { readonly taken: ReadonlyMap<Surveyed, readonly string[]>; readonly warnings: readonly Warning[] } {
  const taken = new Map<string, { readonly document: Surveyed; readonly names: string[] }>();
  const warnings: Warning[] = [];
  for (const wish of wishes) {
    const { type, candidates } = wish;
    const able = candidates.map(({ id }) => documents.get(id)).filter((each) => describes(each, wish)) as Surveyed[];
    if (able.length === 0) {
      const text = `left out: its OpenAPI document of ${type.resource} cannot be read now`;
      warnings.push({ cluster: candidates[0]!.cluster, text });
      continue;
    }
    const fields = ({ survey }: Surveyed): number => survey.fields.get(type.kind) ?? 0;
    const best = able.reduce((one, other) => (isCustom(wish) && fields(other) > fields(one) ? other : one));
    const of = taken.get(best.digest);
    if (of === undefined) taken.set(best.digest, { document: best, names: [type.resource] });
    else of.names.push(type.resource);
  }
  const ordered = [...taken.values()].toSorted(
    (one, other) => other.names.length - one.names.length || (one.document.digest < other.document.digest ? -1 : 1),
  );
  return { taken: new Map(ordered.map(({ document, names }) => [document, names])), warnings };
}
