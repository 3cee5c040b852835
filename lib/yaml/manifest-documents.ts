// Reads manifest files, which may contain several YAML or JSON documents, as kubectl does; in UTF-8, or in UTF-16 with
// a byte order mark (apimachinery:pkg/util/yaml, YAMLOrJSONDecoder).
import { parseExact } from '../json/exact-json.ts';
import { isTooDeep, mostLevels } from '../json/nesting.ts';
import { byte, skipSpace, skipValue } from '../json/json-scan.ts';
import { unicodeText } from '../text/unicode-text.ts';
import { type PlainValue, readYamlDocuments, type YamlDocument, YamlFault } from './go-yaml.ts';

/**
 * Yields all documents of a file. The value of an empty document is null.
 * @param bytes UTF-8, or UTF-16 with a byte order mark
 * @throws YamlFault for the first fault, whose message quotes nothing of the file
 */
export function* readManifestDocuments(bytes: Uint8Array): Generator<YamlDocument> {
  const text = textOf(bytes);
  const json = Buffer.from(text);
  let at = skipSpace(json, 0);
  let line = 1 + lineEnds(json, 0, at);
  let count = 0;
  while (json[at] === byte.openObject) {
    const end = endOfObject(json, at);
    if (end === undefined) break;
    yield { value: jsonValue(json.subarray(at, end), line), line };
    count += 1;
    const next = skipSpace(json, end);
    line += lineEnds(json, at, next);
    at = next;
  }
  if (at === json.length && count > 0) return;
  if (count > 1) throw new YamlFault('the text after these JSON objects is no JSON object', { line, column: 1 });
  // Text that begins like JSON but is not valid JSON may be YAML. Blank lines replace the JSON before it, so that error
  // messages have the right line numbers.
  const rest = count === 0 ? text : '\n'.repeat(line - 1) + json.toString('utf8', at);
  yield* readYamlDocuments(rest);
}

function textOf(bytes: Uint8Array): string {
  const text = unicodeText(bytes);
  if (text === undefined) throw new YamlFault('this is no text in UTF-8 or UTF-16', { line: 1, column: 1 });
  return text;
}

function endOfObject(json: Buffer, at: number): number | undefined {
  try {
    return skipValue(json, at);
  } catch {
    return undefined;
  }
}

function jsonValue(json: Buffer, line: number): PlainValue {
  let value: unknown;
  try {
    value = parseExact(json);
  } catch {
    throw new YamlFault('a number that is too large', { line, column: 1 });
  }
  if (isTooDeep(value)) throw new YamlFault(`nested deeper than ${mostLevels} levels`, { line, column: 1 });
  return value as PlainValue;
}

function lineEnds(json: Buffer, start: number, end: number): number {
  let count = 0;
  for (let at = json.indexOf(0x0a, start); at !== -1 && at < end; at = json.indexOf(0x0a, at + 1)) count += 1;
  return count;
}
