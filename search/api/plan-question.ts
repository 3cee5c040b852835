// The question that rights are asked and a plan is made for.
import type { User } from '../../cache/model/user.ts';
import type { ResourceType } from '../types.ts';

/** Who asks for what. */
export interface PlanQuestion {
  readonly user: User;
  readonly verb: 'get' | 'list' | 'watch';
  readonly types: readonly AskedType[];
  /** Undefined: of all clusters. What it names need not be there: of a cluster that is not, there are no rows. */
  readonly clusters: readonly string[] | undefined;
  /** The cluster of a path that names one. */
  readonly cluster: string | undefined;
  /** Rows are asked for by what owns them, which may be of any type: the caller must see that, too. */
  readonly byOwner?: boolean;
  /** Whether no type at all is an answer, too; otherwise a question about one type that is not there is a NOT_FOUND. */
  readonly mayBeNone?: boolean;
}

/** A type as it was asked for. */
export interface AskedType extends ResourceType {
  /** Undefined: in whatever version is kept. */
  readonly version: string | undefined;
}
