// The kinds of requests to the index, as ../chain/read.ts reads them from path, parameters and body. ../chain/kinds.ts
// says how each kind is answered.
import type { AskedQuery } from '../../query/read/read-query.ts';
import type { Parameters } from '../../query/parameters.ts';
import type { AccessQuestion, AskedClusters } from '../../rights/access/who-can.ts';
import type { FacetBy } from '../../store/store.ts';
import type { TypeKey } from '../../query/types.ts';
import type { CollectionTypes } from './collection-types.ts';
import type { AskedDocument, AskedObjects } from '../request/inner-path.ts';
import type { AskedType } from '../request/plan-question.ts';
import type { ExpositionFormat } from './exposition.ts';
import type { Form } from '../request/request.ts';

/** The fields that every request about indexed objects has. */
interface AboutRows {
  /** The conditions, order and page that the client requests. */
  readonly asked: AskedQuery;
}

/** A request for objects of one type, by a Kubernetes path. */
export interface ObjectsQuestion extends AboutRows {
  readonly kind: 'list' | 'get' | 'watch';
  readonly path: AskedObjects;
  readonly parameters: Parameters;
}

/** A request that Clusterpedia's label or header sends to the cluster itself instead of the index. */
export interface ForwardQuestion {
  readonly kind: 'forward';
  readonly cluster: string;
  /** The path on the member cluster. */
  readonly path: string;
  /** The query string with its leading `?`; '' when there is none. */
  readonly query: string;
}

/** A request for objects of a type that the index does not hold: it is sent to the clusters. */
export interface LiveQuestion {
  readonly kind: 'live';
  readonly path: AskedObjects;
  /** The path on the member clusters. */
  readonly memberPath: string;
  /** The query string with its leading `?`; '' when there is none. */
  readonly query: string;
  readonly parameters: Parameters;
}

/** A request for a collection: one list, or one watch, with rows of several types. */
export interface CollectionQuestion extends AboutRows {
  readonly kind: 'collection' | 'collection-watch';
  readonly name: string;
  readonly parameters: Parameters;
  readonly types: CollectionTypes;
  readonly as: Form['as'];
}

/** A request for a list, described by a POSTed JSON document. */
export interface PostedQuestion extends AboutRows {
  readonly kind: 'query';
  readonly types: readonly AskedType[];
}

/** A request for the number of indexed objects that match. */
export interface CountsQuestion extends AboutRows {
  readonly kind: 'counts';
  readonly types: readonly AskedType[];
}

/** A request for the values of a field: with the number of rows for each (facets), or the values alone. */
export interface ValuesQuestion extends AboutRows {
  readonly kind: 'facets' | 'values';
  readonly types: readonly AskedType[];
  readonly by: FacetBy;
  /** The parameter `by` exactly as the client sent it. */
  readonly byText: string;
  /** The text that returned values must begin with; '' for all values. */
  readonly prefix: string;
  readonly limit: number;
  readonly warnings: readonly string[];
}

/** A request for the state of the index for each cluster. */
export interface FreshnessQuestion {
  readonly kind: 'freshness';
  /** The types to report on; undefined for all types. */
  readonly types: readonly TypeKey[] | undefined;
  readonly clusters: readonly string[] | undefined;
}

/**
 * A request for collections as objects. A collection is a named set of resource types, such as Clusterpedia's
 * `workloads`, that can be listed together.
 */
export interface CollectionNamesQuestion {
  readonly kind: 'collections';
  /** The only name that is wanted; undefined for all. */
  readonly name: string | undefined;
  readonly as: Form['as'];
}

/** A request for the indexes as objects. There is a single one, `default`. */
export interface IndexesQuestion {
  readonly kind: 'indexes';
  /** The name of the requested index; undefined for the list of all indexes. */
  readonly name: string | undefined;
}

/** A request for a discovery or OpenAPI document. */
export interface DocumentQuestion {
  readonly kind: 'document';
  readonly document: AskedDocument;
}

/** A request for numbers of all clusters, as Prometheus reads them. */
export interface FleetQuestion {
  readonly kind: 'fleet';
  readonly format: ExpositionFormat;
}

/** An operator's request: to read the index's status, to move a cluster to another replica, or to rebuild clusters. */
export type OperationQuestion = { readonly kind: 'operation' } & (
  | { readonly operation: 'status' }
  | { readonly operation: 'move'; readonly cluster: string; readonly replica: string | undefined }
  | { readonly operation: 'rebuild'; readonly clusters: readonly string[] | undefined }
);

/** A request for the subjects (users, groups, ServiceAccounts) that may do something in some clusters. */
export interface WhoCanQuestion extends AskedClusters {
  readonly kind: 'whocan';
  readonly access: AccessQuestion;
  /** Whether the answer also names subjects that could get the right, for example by acting as somebody who has it. */
  readonly mayBecome: boolean;
}

/** A request for everything that one user may do in some clusters. */
export interface WhatCanQuestion extends AskedClusters {
  readonly kind: 'whatcan';
  /** A user, with the name and groups that clusters see; undefined for the caller. */
  readonly subject: { readonly name: string; readonly groups: readonly string[] } | undefined;
  /** True when the request does not say in which groups the user is, so that rights given to groups may be missing. */
  readonly hasUnknownGroups: boolean;
}

/** A request for the health or version of the gateway. */
export interface AboutQuestion {
  readonly kind: 'health' | 'version';
}

export type Question =
  | ObjectsQuestion
  | ForwardQuestion
  | LiveQuestion
  | CollectionQuestion
  | PostedQuestion
  | CountsQuestion
  | ValuesQuestion
  | FreshnessQuestion
  | CollectionNamesQuestion
  | IndexesQuestion
  | DocumentQuestion
  | FleetQuestion
  | OperationQuestion
  | WhoCanQuestion
  | WhatCanQuestion
  | AboutQuestion;
