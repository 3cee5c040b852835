// The state of a cluster that another process follows, as that process has published it.
import { typeKey, type TypeKey } from '../../query/types.ts';
import type { ClusterState, PartState, TypeState } from '../member/sync-types.ts';

/** The published state of one cluster, with its types by key. */
export interface ToldState {
  readonly state: ClusterState;
  readonly types: ReadonlyMap<TypeKey, TypeState>;
}

export function toldState(state: ClusterState): ToldState {
  return { state, types: new Map(state.types.map((each) => [typeKey(each.type), each])) };
}

/** The part of a published state that concerns these types; see {@link PartState}. */
export function partOf({ state, types: known }: ToldState, types: ReadonlySet<TypeKey>): PartState {
  const { cluster, incarnation, fault } = state;
  const isCurrent = (type: TypeState): boolean =>
    fault === undefined &&
    type.isWhole &&
    type.phase === 'watching' &&
    type.fault === undefined &&
    type.leftOut === undefined;
  const told = [...types].flatMap((key) => known.get(key) ?? []);
  return { cluster, incarnation, fault, types: told.filter((type) => !isCurrent(type)), hasTypes: known.size > 0 };
}
