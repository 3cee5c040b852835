// Limits the number of values in JSON of others before it is parsed. What JSON.parse costs depends on the values, not
// on the bytes: 31 MB of `{},{},…` take seven seconds or more and 2 GB of memory, in one piece of work that nothing
// else of the process can interrupt.
import { byte, MalformedAnswer } from './json-scan.ts';
import { parseJson } from './parse-json.ts';

/**
 * The most values in one answer of a member cluster. No object can be written through a kube-apiserver that exceeds it:
 * a request has at most 3 MiB, and `[0,0,…]` of more than 1.5 MB does not fit into etcd.
 */
export const mostValues = 2_000_000;
/** The most values in a discovery document. A resource has some 25, so this is room for 20,000 resources. */
export const mostDiscoveryValues = 500_000;

/**
 * Whether a JSON text has more than `most` values, where an object or list inside another one counts as two. For a text
 * that is not JSON the answer means nothing.
 */
export function hasMoreValues(json: Uint8Array, most: number): boolean {
  if (json.length <= most) return false;
  let count = 0;
  let isText = false;
  for (let i = 0; i < json.length; i += 1) {
    const c = json[i];
    if (c === byte.quote) isText = !isText;
    else if (isText) {
      if (c === byte.backslash) i += 1;
    } else if (c === byte.comma || c === byte.openList || c === byte.openObject) {
      count += 1;
      if (count > most) return true;
    }
  }
  return false;
}

/** @throws MalformedAnswer when a JSON text has more than `most` values */
export function refuseManyValues(json: Uint8Array, most: number = mostValues): void {
  if (hasMoreValues(json, most)) throw new MalformedAnswer(`JSON with more than ${most} values`);
}

/**
 * Parses JSON of a member cluster as JSON.parse does, with a limit on its values.
 * @throws MalformedAnswer when it has more than `most` values or is not JSON; the message quotes nothing from it
 */
export function parseLimited(json: Uint8Array, most: number = mostValues): unknown {
  refuseManyValues(json, most);
  try {
    return parseJson(Buffer.from(json.buffer, json.byteOffset, json.byteLength).toString('utf8'));
  } catch {
    // The message of JSON.parse quotes the text, which may be a Secret.
    throw new MalformedAnswer('text that is not JSON');
  }
}
