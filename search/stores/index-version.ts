// The index's own resourceVersions: 16 digits of a commit's time in microseconds, then three check digits that depend
// on the store, so that a member's version or another replica's is not taken for ours. One in a thousand of another
// store's versions passes the check; only the log knows which commits there were (`IndexStore.isInLog`). Only the first
// 16 digits are ever a JavaScript number.
import { randomBytes } from 'node:crypto';

const checks = 1000;
const form = /^[1-9]\d{18}$/;
const storeIdForm = /^[\da-f]{16}$/;

/** Microseconds since 1970 with 16 digits: the years 2001 to 2255 (2^53). */
export const leastIndexTimeUs = 1_000_000_000_000_000;

/** The resourceVersions of one store. */
export interface IndexVersions {
  /**
   * The resourceVersion of a commit time.
   * @param timeUs whole microseconds since 1970, 16 digits
   */
  make(timeUs: number): string;
  /**
   * The commit time in microseconds; undefined for a text this store has not issued (another length, or check digits
   * that do not fit).
   */
  read(resourceVersion: string): number | undefined;
}

/** A name for a new store, which no other has: 16 hexadecimal digits. */
export function newStoreId(): string {
  return randomBytes(8).toString('hex');
}

/** @param storeId of {@link newStoreId} */
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

/** 32 bits of a time and a store's 64: the finishing steps of MurmurHash3, made for each entry of the log. */
function mix(timeUs: number, low: number, high: number): number {
  let bits = (timeUs ^ low) >>> 0;
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  bits ^= Math.floor(timeUs / 2 ** 32) ^ high;
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  return (bits ^ (bits >>> 13)) >>> 0;
}
