// Compares identities by all their parts (rule "keys hold the whole identity" in docs/rules.md): the same user name
// with another group may have other rights.
import { makeRecent } from '../../lib/recent.ts';
import type { User } from '../../model/user.ts';

/**
 * A text that is the same only for equal identities. It contains origin, name, uid, groups in order and extra in order.
 */
export function identityKey(user: User): string {
  return JSON.stringify([user.origin, user.name, user.uid, user.groups, user.extra]);
}

/** Whether both users are the same identity. */
export function isSameIdentity(one: User, other: User): boolean {
  return one === other || identityKey(one) === identityKey(other);
}

/** Returns a number for an identity, as a short replacement for {@link identityKey}. */
export type IdentityNumber = (user: User) => number;

const rememberedIdentities = 50_000;
/** Maximum number of characters of all cached identity keys together. */
const rememberedKeyLength = 16 * 1024 * 1024;

/**
 * Makes a function that numbers identities: equal identities get the same number while they are cached, different ones
 * never do. An identity that dropped out of the cache gets a new number; numbers are never reused.
 */
export function makeIdentityNumbers(): IdentityNumber {
  const numbers = makeRecent<number>({ maxEntries: rememberedIdentities, maxKeyLength: rememberedKeyLength });
  // User objects are frozen and live as long as their credential is cached, so the long key is built once per object.
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
