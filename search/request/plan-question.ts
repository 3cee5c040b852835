// The part of a request that is needed to read the caller's rights and to plan the answer.
import type { User } from '../../model/user.ts';
import type { ResourceType } from '../../query/types.ts';

/** The caller, the verb, and the types and clusters of a request. */
export interface PlanQuestion {
  readonly user: User;
  readonly verb: 'get' | 'list' | 'watch';
  readonly types: readonly AskedType[];
  /**
   * The clusters that the request names; undefined for all. A name that no cluster has is not an error: the answer has
   * no rows of it.
   */
  readonly clusters: readonly string[] | undefined;
  /** The cluster that the path names; undefined when it names none. */
  readonly cluster: string | undefined;
  /** True when rows are selected by their owners. Owners can be of any type, so rights to all types are needed. */
  readonly byOwner?: boolean;
  /**
   * True when an answer without any type is permitted. Otherwise a request for a single type that is not there is
   * NOT_FOUND.
   */
  readonly mayBeNone?: boolean;
}

/** A type with the version in which the client requests it. */
export interface AskedType extends ResourceType {
  /** The requested version; undefined for whatever version is stored. */
  readonly version: string | undefined;
}
