// The index's own resourceVersions: the time of a commit in microseconds (16 digits), and three check digits that
// depend on the store. The check digits keep a resourceVersion of a cluster or of another store from being taken for
// one of this store. One in a thousand passes the check by chance, so the change log decides in the end
// (`IndexStore.isInLog`). Only the first 16 digits are ever converted to a JavaScript number, which has no room for 19.
import { randomBytes } from 'node:crypto';

const checks = 1000;
const form = /^[1-9]\d{18}$/;
const storeIdForm = /^[\da-f]{16}$/;

/** The earliest commit time, in microseconds since 1970. Times from here to 2^53 cover the years 2001 to 2255. */
export const leastIndexTimeUs = 1_000_000_000_000_000;

/** Makes and reads the resourceVersions of one store. */
export interface IndexVersions {
  /**
   * The resourceVersion of a commit.
   * @param timeUs when it was committed: whole microseconds since 1970, 16 digits
   */
  make(timeUs: number): string;
  /**
   * The commit time, in microseconds since 1970, of a resourceVersion. Undefined when this store cannot have made the
   * text, because its length or its check digits are wrong.
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
 * Hashes a time and the 64 bits of a store's id to 32 bits, with the final steps of MurmurHash3, which are fast: this
 * runs for each entry of the change log.
 */
function mix(timeUs: number, low: number, high: number): number {
  let bits = (timeUs ^ low) >>> 0;
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  bits ^= Math.floor(timeUs / 2 ** 32) ^ high;
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  return (bits ^ (bits >>> 13)) >>> 0;
}
