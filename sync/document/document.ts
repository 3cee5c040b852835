// Turns an object as a member cluster sent it into a row of the index. document-pass.ts reads and changes its bytes in
// one pass.
import { isUtf8 } from 'node:buffer';
import { MalformedAnswer } from '../../lib/json/json-scan.ts';
import type { RowWrite } from '../../store/store.ts';
import { clusterAnnotation, type TypeInfo } from '../../query/types.ts';
import { makeShape, ownAnnotations, type Slot } from './document-shape.ts';
import { malformed } from '../../lib/json/json-scan.ts';
import { DocumentPass, Repeated } from './document-pass.ts';
import { refuseManyValues } from '../../lib/json/value-count.ts';
import { parseJson } from '../../lib/json/parse-json.ts';

/** How objects of one type of one cluster become rows. */
export interface DocumentOptions {
  readonly cluster: string;
  readonly type: Pick<TypeInfo, 'group' | 'version' | 'kind' | 'namespaced'>;
  /**
   * The paths whose values can be searched: keys separated by dots, with `[]` after a key for each element of a list.
   */
  readonly paths: readonly string[];
  /**
   * Whether to remove `data` and `stringData`, as for Secrets. The stored copy then contains no secret, and its
   * resourceVersion is replaced, so that it cannot be written back by mistake.
   */
  readonly redacts: boolean;
  /**
   * Paths of further fields to remove. The copy of an object that had such a field gets another resourceVersion, so
   * that it cannot be written back, and an annotation that says what is missing.
   */
  readonly pruned?: readonly string[];
}

/** Makes rows from the objects of one type. */
export interface DocumentReader {
  /**
   * Makes a row from the JSON bytes of an object.
   * @throws MalformedAnswer when the bytes are not an object of Kubernetes; the message quotes nothing from them
   */
  read(raw: Buffer): RowWrite;
}

/** How many repeated keys are removed from one object before it is refused. No API server sends even one. */
const maxRepeats = 16;

/** Makes the reader that turns objects of one type in one cluster from JSON bytes into rows of the index. */
export function makeDocumentReader(options: DocumentOptions): DocumentReader {
  const { cluster, type, paths, redacts, pruned = [] } = options;
  const isPartial = redacts || pruned.length > 0;
  const replaced = [clusterAnnotation, ...(isPartial ? Object.values(ownAnnotations) : [])];
  const shape = makeShape(paths, replaced, redacts, pruned);
  const apiVersion = type.group === '' ? type.version : `${type.group}/${type.version}`;
  const header = { apiVersion: member('apiVersion', apiVersion), kind: member('kind', type.kind) };
  const named = member(clusterAnnotation, cluster);
  const lacking = member(ownAnnotations.pruned, pruned.join());
  return { read: (raw) => readWithoutRepeats(raw, readOnce) };

  function readOnce(bytes: Buffer): RowWrite {
    const pass = new DocumentPass(bytes, isPartial);
    pass.read(shape);
    const { found } = pass;
    const text = (slot: Slot): string | undefined => pass.text(slot);
    const annotations = [named];
    const resourceVersion = text('resourceVersion') ?? '';
    if (redacts) {
      annotations.push(
        member(ownAnnotations.redacted, 'data'),
        member(ownAnnotations.dataCount, String(found.dataCount)),
      );
    }
    if (found.isPruned === true) annotations.push(lacking);
    const isReplaced = redacts || found.isPruned === true;
    if (isReplaced) annotations.push(member(ownAnnotations.resourceVersion, resourceVersion));
    const missing = [
      ...(text('kind') === undefined ? [header.kind] : []),
      ...(text('apiVersion') === undefined ? [header.apiVersion] : []),
    ];
    const namespace = text('namespace') ?? '';
    const name = text('name') ?? '';
    if (name === '') throw new MalformedAnswer('an object without name');
    if ((namespace !== '') !== type.namespaced)
      throw new MalformedAnswer('an object that has a namespace and should have none, or the other way round');
    return {
      namespace,
      name,
      uid: text('uid') ?? '',
      resourceVersion,
      ownerUid: ownerOf(found.owners),
      createdAtMs: Date.parse(text('creationTimestamp') ?? '') || 0,
      labels: labelsOf(found.labels),
      terms: pass.terms,
      raw: pass.write(missing.join(), annotations.join(), isReplaced ? '"1"' : undefined),
    };
  }
}

/** Calls `read` again for each repeated key that it finds, with the bytes of that key and its value removed. */
function readWithoutRepeats(raw: Buffer, read: (bytes: Buffer) => RowWrite): RowWrite {
  if (!isUtf8(raw)) throw malformed();
  refuseManyValues(raw);
  let bytes = raw;
  for (let repeats = 0; ; repeats += 1) {
    try {
      return read(bytes);
    } catch (error) {
      if (!(error instanceof Repeated)) throw error;
      if (repeats === maxRepeats) throw new MalformedAnswer('an object with repeated keys');
      bytes = Buffer.concat([bytes.subarray(0, error.start), bytes.subarray(error.end)]);
    }
  }
}

function member(key: string, value: string): string {
  return `${JSON.stringify(key)}:${JSON.stringify(value)}`;
}

function labelsOf(text: string): RowWrite['labels'] {
  if (text === '' || text === 'null' || text === '{}') return [];
  const labels = parseJson(text) as Readonly<Record<string, unknown>>;
  return Object.entries(labels).filter((entry): entry is [string, string] => typeof entry[1] === 'string');
}

/** The UID of the owner reference with `controller: true`; '' when there is none. */
function ownerOf(text: string): string {
  if (text === '') return '';
  const owners = JSON.parse(text) as unknown;
  if (!Array.isArray(owners)) return '';
  const controller = (owners as readonly unknown[]).find(
    (owner): owner is { readonly uid: string } =>
      typeof owner === 'object' &&
      owner !== null &&
      'controller' in owner &&
      owner.controller === true &&
      'uid' in owner &&
      typeof owner.uid === 'string',
  );
  return controller?.uid ?? '';
}
