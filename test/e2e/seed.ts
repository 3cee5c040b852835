// The seed of random end-to-end tests: one for every landing, a new one for other runs.
import { randomInt } from 'node:crypto';

/** Names the seed of random end-to-end tests, a whole number. */
export const seedVariable = 'PORTCULLIS_SEED';
/** Of the landing tier: whether a change lands depends on the change. New seeds are for the other runs. */
export const landingSeed = 1;

/** The seed that the run gives, or a new one. */
export function seedOfRun(): number {
  const given = process.env[seedVariable];
  return given === undefined ? randomInt(0x7fff_ffff) : Number(given);
}
