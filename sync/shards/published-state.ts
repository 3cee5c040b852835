// The state of a cluster that another process follows, as that process has published it.
import { typeKey, type TypeKey } from '../../query/types.ts';
import type { ClusterState, PartState, TypeState } from '../member/sync-types.ts';

/** The published state of one cluster, with its types by key. */
export interface PublishedState {
  readonly state: ClusterState;
  readonly types: ReadonlyMap<TypeKey, TypeState>;
}

export function publishedState(state: ClusterState): PublishedState {
  return { state, types: new Map(state.types.map((each) => [typeKey(each.type), each])) };
}

/** The part of a published state that concerns these types; see {@link PartState}. */
export function partOf({ state, types: known }: PublishedState, types: ReadonlySet<TypeKey>): PartState {
  const { cluster, incarnation, fault } = state;
  const isCurrent = (type: TypeState): boolean =>
    fault === undefined &&
    type.isWhole &&
    type.phase === 'watching' &&
    type.fault === undefined &&
    type.leftOut === undefined;
  const published = [...types].flatMap((key) => known.get(key) ?? []);
  return { cluster, incarnation, fault, types: published.filter((type) => !isCurrent(type)), hasTypes: known.size > 0 };
}
