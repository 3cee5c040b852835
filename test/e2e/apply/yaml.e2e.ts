// What kubectl reads of YAML and JSON, and what Portcullis reads: the same, scalar by scalar and file by file. The few
// differences are named here and in docs/reference/yaml.md with their reasons.
// Landing tier: manifests are read as kubectl reads them.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { parseExact } from '../../../lib/json/exact-json.ts';
import { skipSpace, skipValue } from '../../../lib/json/json-scan.ts';
import { objectsIn } from '../../../lib/yaml/manifest-objects.ts';
import { YamlFault } from '../../../lib/yaml/go-yaml.ts';
import { ensureBinaries } from '../../controlplane/build.ts';
import { files, keys, scalars } from './yaml-cases.ts';
import { tempDir } from '../../pretend/temp-dir.ts';

let kubectl: string;
before(async () => {
  kubectl = (await ensureBinaries(['kubectl']))['kubectl']!;
});

const folder = tempDir('yaml');

interface Read {
  readonly objects: readonly unknown[];
  /** Why it was refused; undefined when it was read. */
  readonly refusal?: string;
}

/** What kubectl makes of files, without any server: it gives each object a label. One it refuses is left out. */
async function readByKubectl(path: string): Promise<Read> {
  const { output, refusal } = await new Promise<{ output: string; refusal: string }>((resolve) => {
    const args = ['label', '--local', '-f', path, 'read=by-kubectl', '-o', 'json'];
    execFile(kubectl, args, { maxBuffer: 1024 * 1024 * 1024 }, (_, stdout, stderr) =>
      resolve({ output: stdout, refusal: stderr }),
    );
  });
  const bytes = Buffer.from(output);
  const objects: unknown[] = [];
  for (let at = skipSpace(bytes, 0); at < bytes.length;) {
    const end = skipValue(bytes, at);
    objects.push(parseExact(bytes.subarray(at, end)));
    at = skipSpace(bytes, end);
  }
  return { objects, ...(refusal !== '' && { refusal }) };
}

function readByUs(bytes: Uint8Array): Read {
  const objects: unknown[] = [];
  try {
    for (const { object } of objectsIn(bytes)) objects.push(object);
    return { objects };
  } catch (error) {
    if (!(error instanceof YamlFault)) throw error;
    return { objects, refusal: error.message };
  }
}

const sorted = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(sorted);
  // kubectl keeps integers of 64 bits and rounds longer ones; Portcullis sends what was written.
  if (typeof value === 'bigint' && (value >= 2n ** 63n || value < -(2n ** 63n))) return Number(value);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => key !== 'labels')
      .map(([key, each]): [string, unknown] => [key, sorted(each)])
      .toSorted(([one], [other]) => (one < other ? -1 : 1)),
  );
};

/** What was not read alike, by the text or the name of the file. */
type Differences = Readonly<Record<string, readonly [kubectl: string, portcullis: string]>>;

const printed = ({ objects, refusal }: Read): string =>
  objects.length === 0 && refusal !== undefined ? 'refused' : JSON.stringify(objects.map(sorted));

/** Reads each text below an object of its own. kubectl says what it refuses, and goes on with the next file. */
async function differencesOf(
  name: string,
  texts: readonly string[],
  line: (text: string) => string,
): Promise<Differences> {
  const path = join(folder, name);
  mkdirSync(path);
  const whole = texts.map(
    (text, index) => `apiVersion: t/v1\nkind: X\nmetadata: {name: "n${index}"}\nspec:\n  ${line(text)}\n`,
  );
  for (const [index, text] of whole.entries()) writeFileSync(join(path, `n${index}.yaml`), text);
  const { objects } = await readByKubectl(path);
  const byName = new Map(objects.map((each) => [(each as { metadata: { name: string } }).metadata.name, each]));
  const found: Record<string, [string, string]> = {};
  for (const [index, text] of texts.entries()) {
    const theirs = byName.get(`n${index}`);
    const [other, own] = [
      printed(theirs === undefined ? { objects: [], refusal: '' } : { objects: [theirs] }),
      printed(readByUs(Buffer.from(whole[index]!))),
    ];
    if (own !== other)
      found[text] = [other, own].map((each) => /"spec":(.*)\}\]$/.exec(each)?.[1] ?? each) as [string, string];
  }
  return found;
}

test('every scalar means what it means to kubectl', async () => {
  assert.ok(scalars.length >= 600);
  assert.deepEqual(await differencesOf('scalars', scalars, (text) => `k: ${text}`), {
    // As in JSON.
    '"\\/"': ['refused', '{"k":"/"}'],
    // kubectl replaces what is no UTF-8.
    '!!binary 0x1F': ['{"k":"\ufffd\\u001dE"}', 'refused'],
  });
});

test('every key is the name that it is to kubectl', async () => {
  assert.ok(keys.length >= 400);
  assert.deepEqual(await differencesOf('keys', keys, (text) => `${text}: v`), {
    '"\\/"': ['refused', '{"/":"v"}'],
  });
});

test('every file holds the objects that it holds to kubectl', async () => {
  assert.ok(files.size >= 100);
  const found: Record<string, [string, string]> = {};
  for (const [name, content] of files) {
    const path = join(folder, 'file.yaml');
    writeFileSync(path, content);
    const [other, own] = [printed(await readByKubectl(path)), printed(readByUs(Buffer.from(content)))];
    if (own !== other) found[name] = [other, own];
  }
  const configMap = (rest: object = {}): string =>
    JSON.stringify([sorted({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' }, ...rest })]);
  assert.deepEqual(found, {
    // kubectl replaces what is no UTF-8.
    'bytes that are no UTF-8': [configMap({ data: { k: '\ufffd' } }), 'refused'],
    'Latin-1': [configMap({ data: { k: '\ufffd' } }), 'refused'],
    // kubectl takes the last one.
    'a key twice': [configMap({ data: { k: 'b' } }), 'refused'],
    // What has one meaning only is taken.
    'a List in a List': ['refused', configMap()],
    'a literal with a tab': ['refused', configMap({ data: { k: '\ta\n' } })],
    'a %YAML directive': ['refused', configMap()],
    'a %TAG directive': ['refused', configMap()],
    'text behind a separator': ['refused', configMap()],
  });
});
