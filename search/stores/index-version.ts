// The index's own resourceVersions: the time of a commit in microseconds (16 digits), and three check digits that
// depend on the store. They keep a cluster's or another store's version from being taken for one of this store. One in
// a thousand versions of other stores passes the check by chance, so the log has the last word (`IndexStore.isInLog`).
// Only the first 16 digits are ever converted to a JavaScript number.
import { randomBytes } from 'node:crypto';

const checks = 1000;
const form = /^[1-9]\d{18}$/;
const storeIdForm = /^[\da-f]{16}$/;

/** The least time, in microseconds since 1970. Times with 16 digits up to 2^53 cover the years 2001 to 2255. */
export const leastIndexTimeUs = 1_000_000_000_000_000;

/** Makes and reads the resourceVersions of one store. */
export interface IndexVersions {
  /** The resourceVersion of a commit. @param timeUs whole microseconds since 1970, 16 digits */
  make(timeUs: number): string;
  /**
   * The commit time in microseconds. Undefined when this store cannot have made the text: wrong length or wrong check
   * digits.
   */
  read(resourceVersion: string): number | undefined;
}

/** A random id for a new store: 16 hexadecimal digits. */
export function newStoreId(): string {
  return randomBytes(8).toString('hex');
}

/**
 * Gives the functions that write and read the resourceVersions of one store.
 * @param storeId made by {@link newStoreId}
 */
export function indexVersionsOf(storeId: string): IndexVersions {
  if (!storeIdForm.test(storeId)) throw new RangeError('an id of a store has 16 hexadecimal digits');
  const low = Number.parseInt(storeId.slice(8), 16);
  const high = Number.parseInt(storeId.slice(0, 8), 16);
  const check = (timeUs: number): string => String(mix(timeUs, low, high) % checks).padStart(3, '0');
  return {
    make(timeUs) {
      if (!Number.isSafeInteger(timeUs) || timeUs < leastIndexTimeUs) throw new RangeError(`no index time: ${timeUs}`);
      return `${timeUs}${check(timeUs)}`;
    },
    read(resourceVersion) {
      if (!form.test(resourceVersion)) return undefined;
      const timeUs = Number(resourceVersion.slice(0, 16));
      return Number.isSafeInteger(timeUs) && check(timeUs) === resourceVersion.slice(16) ? timeUs : undefined;
    },
  };
}

/**
 * Hashes a time and the 64 bits of a store's id to 32 bits, with the final steps of MurmurHash3. It runs for each entry
 * of the log.
 */
function mix(timeUs: number, low: number, high: number): number {
  let bits = (timeUs ^ low) >>> 0;
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  bits ^= Math.floor(timeUs / 2 ** 32) ^ high;
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  return (bits ^ (bits >>> 13)) >>> 0;
}
