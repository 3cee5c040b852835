// Step 11: the cluster record, read once, with the credential and the connections that belong to it.
import { locate as locateTarget } from '../../routing/target.ts';
import { located } from '../exchange.ts';
import type { Dispatched, Located } from '../exchange.ts';
import type { Rooms } from '../rooms.ts';

export function locate(state: Dispatched, rooms: Rooms): Located | Promise<Located> {
  const target = locateTarget(state.surface.cluster, rooms.clusters.get, rooms.connections);
  if (target instanceof Promise) return target.then((ready) => located(state, ready));
  return located(state, target);
}
