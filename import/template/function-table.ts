// The functions that templates can call, and those functions of Go and sprig that are refused. Whoever can write a
// ClusterImportPolicy must not be able to read the environment of the process, use DNS, or print a text that differs
// each time.
import type { Callable } from './functions/callable.ts';
import { choices } from './functions/choices.ts';
import { collections } from './functions/collections.ts';
import { comparisons } from './functions/comparisons.ts';
import { encodings } from './functions/encodings.ts';
import { numbers } from './functions/numbers.ts';
import { patterns } from './functions/patterns.ts';
import { texts } from './functions/texts.ts';
import { urls } from './functions/urls.ts';

/**
 * All functions except `and` and `or`. `execute.ts` handles those two itself, since they may leave arguments
 * unevaluated.
 */
export const functions: ReadonlyMap<string, Callable> = new Map(
  Object.entries({
    ...choices,
    ...collections,
    ...comparisons,
    ...encodings,
    ...numbers,
    ...patterns,
    ...texts,
    ...urls,
  }),
);

const reasons: Readonly<Record<string, readonly string[]>> = {
  'it reads the environment or the network': ['env', 'expandenv', 'getHostByName'],
  'its result differs each time': [
    ...['randAlphaNum', 'randAlpha', 'randAscii', 'randNumeric', 'randBytes', 'randInt', 'shuffle', 'uuidv4'],
    ...['now', 'ago', 'date', 'dateInZone', 'date_in_zone', 'dateModify', 'date_modify', 'mustDateModify'],
    ...['must_date_modify', 'htmlDate', 'htmlDateInZone', 'toDate', 'mustToDate', 'unixEpoch'],
    ...['duration', 'durationRound'],
  ],
  'it makes or uses keys': [
    ...['genPrivateKey', 'genCA', 'genCAWithKey', 'genSelfSignedCert', 'genSelfSignedCertWithKey', 'genSignedCert'],
    ...['genSignedCertWithKey', 'buildCustomCert', 'derivePassword', 'htpasswd', 'bcrypt', 'encryptAES', 'decryptAES'],
  ],
};

/** The reason why a function cannot be called; undefined when it can. */
export function functionFault(name: string): string | undefined {
  if (name === 'and' || name === 'or' || functions.has(name)) return undefined;
  const reason = Object.keys(reasons).find((why) => reasons[why]!.includes(name));
  if (reason !== undefined) return `function "${name}" is refused: ${reason}`;
  return `function "${name}" not defined`;
}
