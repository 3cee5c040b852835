// The questions the index answers, as `steps/read.ts` reads them from path, parameters and body. What is done for each
// kind is in kinds.ts.
import type { AskedQuery } from '../query/read-query.ts';
import type { Parameters } from '../query/parameters.ts';
import type { FacetBy } from '../stores/store.ts';
import type { TypeKey } from '../types.ts';
import type { CollectionTypes } from './collection-types.ts';
import type { AskedDocument, AskedObjects } from './inner-path.ts';
import type { AskedType } from './plan-question.ts';
import type { Form } from './request.ts';

/** What every question about rows has. */
interface AboutRows {
  readonly parameters: Parameters;
  /** Conditions, order and page. */
  readonly asked: AskedQuery;
}

/** Objects of one type, by a path of Kubernetes. */
export interface ObjectsQuestion extends AboutRows {
  readonly kind: 'list' | 'get' | 'watch';
  readonly path: AskedObjects;
}

/** Clusterpedia's label or header: the cluster itself is asked instead of the index. */
export interface ForwardQuestion {
  readonly kind: 'forward';
  readonly cluster: string;
  /** As the cluster knows it. */
  readonly path: string;
  /** With `?`, or ''. */
  readonly query: string;
}

/** One of Clusterpedia's collections: rows of several types in one list. */
export interface CollectionQuestion extends AboutRows {
  readonly kind: 'collection';
  readonly name: string;
  readonly types: CollectionTypes;
  readonly as: Form['as'];
}

/** A list that a POSTed document asks for. */
export interface PostedQuestion extends AboutRows {
  readonly kind: 'query';
  readonly types: readonly AskedType[];
}

/** How many rows there are. */
export interface CountsQuestion extends AboutRows {
  readonly kind: 'counts';
  readonly types: readonly AskedType[];
}

/** How many rows have which value, or which values there are. */
export interface ValuesQuestion extends AboutRows {
  readonly kind: 'facets' | 'values';
  readonly types: readonly AskedType[];
  readonly by: FacetBy;
  /** `by` as it was asked for. */
  readonly byText: string;
  /** What values begin with; '' for all. */
  readonly prefix: string;
  readonly limit: number;
  readonly warnings: readonly string[];
}

/** How far the index is with each cluster. */
export interface FreshnessQuestion {
  readonly kind: 'freshness';
  /** Undefined: every type. */
  readonly types: readonly TypeKey[] | undefined;
  readonly clusters: readonly string[] | undefined;
}

/** Which collections there are. */
export interface CollectionNamesQuestion {
  readonly kind: 'collections';
  readonly as: Form['as'];
}

/** The indexes as objects: there is one, `default`. */
export interface IndexesQuestion {
  readonly kind: 'indexes';
  /** Undefined: all of them. */
  readonly name: string | undefined;
}

/** Discovery or OpenAPI. */
export interface DocumentQuestion {
  readonly kind: 'document';
  readonly document: AskedDocument;
}

/** Health or version of the gateway. */
export interface AboutQuestion {
  readonly kind: 'health' | 'version';
}

export type Question =
  | ObjectsQuestion
  | ForwardQuestion
  | CollectionQuestion
  | PostedQuestion
  | CountsQuestion
  | ValuesQuestion
  | FreshnessQuestion
  | CollectionNamesQuestion
  | IndexesQuestion
  | DocumentQuestion
  | AboutQuestion;
