// Reads what a member answers: an object, or why there is none.
import { ApiRefusal } from '../../kube/objects/api-refusal.ts';
import { isTooDeep, mostLevels } from '../../lib/json/nesting.ts';
import { isJsonObject, type JsonObject } from '../../lib/objects/json-object.ts';
import { parseExact } from '../../lib/json/exact-json.ts';

/** Thrown when the member answers with an error status. The message is the member's own. */
export class MemberRefusal extends ApiRefusal {
  override readonly name = 'MemberRefusal';
}

/**
 * Parses what a member answered. Here objects of members come in, which others wrote: what comes out can be walked over
 * by functions that call themselves.
 * @throws MemberRefusal for what is no JSON object, or is nested too deeply
 */
export function jsonOf(body: Buffer): JsonObject {
  let parsed: unknown;
  try {
    parsed = parseExact(body);
  } catch {
    parsed = undefined;
  }
  if (!isJsonObject(parsed))
    throw new MemberRefusal(502, 'MalformedAnswer', 'the cluster answered with no JSON object');
  if (isTooDeep(parsed))
    throw new MemberRefusal(
      502,
      'TooDeep',
      `the cluster answered with an object that is nested deeper than ${mostLevels} levels, which this gateway does not handle`,
    );
  return parsed;
}
