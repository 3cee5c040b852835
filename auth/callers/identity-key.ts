// Tells identities apart by everything they consist of (rule "keys hold the whole identity"): the same name with
// another group is somebody with other rights.
import { makeRecent } from '../../lib/recent.ts';
import type { User } from '../../cache/model/user.ts';

/** A text that is equal for equal identities only. It holds origin, name, uid, groups in order and extra in order. */
export function identityKey(user: User): string {
  return JSON.stringify([user.origin, user.name, user.uid, user.groups, user.extra]);
}

/** True when both are the same identity. */
export function isSameIdentity(one: User, other: User): boolean {
  return one === other || identityKey(one) === identityKey(other);
}

/** A number in place of the long {@link identityKey}. */
export type IdentityNumber = (user: User) => number;

const rememberedIdentities = 50_000;
/** Characters of all remembered keys together. */
const rememberedKeyLength = 16 * 1024 * 1024;

/**
 * Numbers identities: equal ones share a number, different ones never do. A forgotten identity gets a new number, so a
 * number never changes its owner.
 */
export function makeIdentityNumbers(): IdentityNumber {
  const numbers = makeRecent<number>({ maxEntries: rememberedIdentities, maxKeyLength: rememberedKeyLength });
  // Users are frozen and live as long as their credential, so the long key is built once for each.
  const ofUser = new WeakMap<User, number>();
  let last = 0;
  return (user) => {
    const known = ofUser.get(user);
    if (known !== undefined) return known;
    const key = identityKey(user);
    let number = numbers.get(key);
    if (number === undefined) {
      last += 1;
      number = last;
      numbers.set(key, number);
    }
    ofUser.set(user, number);
    return number;
  };
}
