// The history of a ManifestWork: earlier specs that were executed, stored in an annotation of the work itself, so that
// exactly those users who may read or change the work may also read or change its history. The gateway writes it when
// it executes the work; `portcullis works` reads it.
import { brotliCompress, brotliDecompress, constants } from 'node:zlib';
import { promisify } from 'node:util';
import { isJsonObject, type JsonObject } from './objects/json-object.ts';
import { parseExact } from './json/exact-json.ts';

/**
 * Annotation with the history: the generation of its newest revision, a dot, and all revisions as JSON, compressed with
 * Brotli, in base64.
 */
export const historyAnnotation = 'gateway.portcullis.io/history';

/** One spec that was executed. */
export interface Revision {
  /** `metadata.generation` of the work when it had this spec. */
  readonly revision: number;
  /** When this spec was first executed, in RFC 3339. */
  readonly time: string;
  /** The spec; undefined when it was too large to keep. */
  readonly spec: JsonObject | undefined;
}

/**
 * Longest value of the annotation in characters; beyond it, the oldest revisions are dropped. Kubernetes allows all
 * annotations of an object together `annotationsLimit` bytes.
 */
const maxLength = 64 * 1024;
const annotationsLimit = 256 * 1024;
/**
 * Maximum number of bytes of a history after decompression when it is read. One with more was not written by the
 * gateway, and is treated as unreadable.
 */
const maxOutputLength = 32 * 1024 * 1024;

const compress = promisify(brotliCompress);
const decompress = promisify(brotliDecompress);
const parameters = { [constants.BROTLI_PARAM_QUALITY]: 5, [constants.BROTLI_PARAM_LGWIN]: 22 };

type Annotations = Readonly<Record<string, string>>;

/** Whether the newest revision of the history is that of the given generation. */
export function isRecorded(annotations: Annotations, generation: number): boolean {
  return annotations[historyAnnotation]?.startsWith(`${generation}.`) === true;
}

/** Reads the history, oldest revision first; empty without the annotation, undefined when its value cannot be read. */
export async function readHistory(annotations: Annotations): Promise<readonly Revision[] | undefined> {
  const text = annotations[historyAnnotation];
  if (text === undefined) return [];
  try {
    const packed = Buffer.from(text.slice(text.indexOf('.') + 1), 'base64');
    const bytes = await decompress(packed, { maxOutputLength });
    const revisions: unknown = parseExact(bytes);
    return Array.isArray(revisions) && revisions.every(isRevision) ? revisions : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Returns the value of the annotation with one more revision. The oldest revisions are dropped when there are more than
 * `limit`, or when they do not fit into the annotation; a revision that does not fit even alone is kept without its
 * spec.
 */
export async function withRevision(annotations: Annotations, revision: Revision, limit: number): Promise<string> {
  const others = Object.entries(annotations).filter(([name]) => name !== historyAnnotation);
  const used = others.reduce((sum, [name, value]) => sum + Buffer.byteLength(name) + Buffer.byteLength(value), 0);
  const room = Math.min(maxLength, annotationsLimit - used - historyAnnotation.length);
  const earlier = (await readHistory(annotations)) ?? [];
  let kept = [...earlier.filter((each) => each.revision !== revision.revision), revision].slice(-limit);
  for (;;) {
    const packed = await compress(JSON.stringify(kept), { params: parameters });
    const text = `${revision.revision}.${packed.toString('base64')}`;
    if (text.length <= room || kept.every(({ spec }) => spec === undefined)) return text;
    kept = kept.length > 1 ? kept.slice(Math.ceil(kept.length / 4)) : [{ ...revision, spec: undefined }];
  }
}

function isRevision(value: unknown): value is Revision {
  if (!isJsonObject(value) || typeof value['time'] !== 'string') return false;
  return Number.isInteger(value['revision']) && (value['spec'] === undefined || isJsonObject(value['spec']));
}
