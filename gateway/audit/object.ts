// Reads name, namespace, uid and resourceVersion of the object in a request body while the body is streamed to the
// cluster. kube-apiserver fills objectRef of a create or update from the body; without the body, an audit event would
// not say which object was created. Bodies may have megabytes, so only these four short texts are kept.
import { protobufMetadata } from './object-protobuf.ts';
import type { BodyMetadata, BodyMetadataReader } from '../../request/audit-trail.ts';

/**
 * Makes a reader for bodies of this Content-Type. Undefined for YAML and CBOR, which are not read: then objectRef of
 * the audit event has only the fields that are in the path.
 */
export function bodyMetadataReader(contentType: string | undefined): BodyMetadataReader | undefined {
  const type = (contentType ?? '').split(';', 1)[0]!.trim().toLowerCase();
  if (type === 'application/vnd.kubernetes.protobuf') return new ProtobufReader();
  // kube-apiserver reads a body without a Content-Type as JSON.
  return type === 'application/json' || type === '' ? new JsonReader() : undefined;
}

/**
 * How many bytes of the start of a protobuf body are kept. They are enough: ObjectMeta begins with name, generateName,
 * namespace, selfLink, uid and resourceVersion, and Go writes fields in the order of their numbers.
 */
const protobufPrefix = 8 * 1024;

class ProtobufReader implements BodyMetadataReader {
  readonly #prefix = Buffer.alloc(protobufPrefix);
  #length = 0;

  feed(chunk: Buffer): void {
    if (this.#length < protobufPrefix) this.#length += chunk.copy(this.#prefix, this.#length);
  }

  found(): BodyMetadata {
    return protobufMetadata(this.#prefix.subarray(0, this.#length));
  }
}

/** Longest text that is kept, in bytes. No valid name, namespace, uid or resourceVersion is longer. */
const longestText = 1024;
const wanted: ReadonlySet<string> = new Set(['name', 'namespace', 'uid', 'resourceVersion']);

const quote = 0x22;
const backslash = 0x5c;

/** Reads the strings of {@link wanted} directly below the top-level `metadata` of a JSON object; ignores the rest. */
class JsonReader implements BodyMetadataReader {
  readonly #found: Record<string, string> = {};
  #done = false;
  #depth = 0;
  #inMetadata = false;
  #expectsKey = false;
  #key = '';
  #inString = false;
  #escaped = false;
  /** Bytes of the JSON string that is being read; undefined when this string is not {@link wanted}. */
  #text: number[] | undefined;

  feed(chunk: Buffer): void {
    for (let i = 0; i < chunk.length && !this.#done; i++) {
      const byte = chunk[i]!;
      if (this.#inString) this.#stringByte(byte);
      else if (byte > 0x20) this.#structureByte(byte);
    }
  }

  found(): BodyMetadata {
    return this.#found;
  }

  #stringByte(byte: number): void {
    if (this.#escaped) this.#escaped = false;
    else if (byte === backslash) this.#escaped = true;
    else if (byte === quote) {
      this.#inString = false;
      if (this.#text !== undefined) this.#take(this.#text);
      return;
    }
    if (this.#text !== undefined && this.#text.length <= longestText) this.#text.push(byte);
  }

  #structureByte(byte: number): void {
    if (this.#depth === 0 && byte !== 0x7b) {
      this.#done = true;
      return;
    }
    switch (byte) {
      case quote:
        this.#inString = true;
        this.#text = this.#isWanted() ? [] : undefined;
        break;
      case 0x7b: // {
        this.#inMetadata ||= this.#depth === 1 && this.#key === 'metadata';
        this.#depth += 1;
        this.#expectsKey = true;
        break;
      case 0x5b: // [
        this.#depth += 1;
        this.#expectsKey = false;
        break;
      case 0x7d: // }
      case 0x5d: // ]
        this.#depth -= 1;
        this.#done = this.#depth === 0 || (this.#inMetadata && this.#depth === 1);
        break;
      case 0x3a: // :
        this.#expectsKey = false;
        break;
      case 0x2c: // ,
        this.#expectsKey = true;
        break;
    }
  }

  #isWanted(): boolean {
    if (this.#depth === 1) return this.#expectsKey;
    return this.#inMetadata && this.#depth === 2 && (this.#expectsKey || wanted.has(this.#key));
  }

  #take(bytes: readonly number[]): void {
    const text = bytes.length > longestText ? '' : unescaped(Buffer.from(bytes).toString('utf8'));
    if (this.#expectsKey) this.#key = text;
    else if (text !== '') this.#found[this.#key] = text;
  }
}

function unescaped(text: string): string {
  if (!text.includes('\\')) return text;
  try {
    return JSON.parse(`"${text}"`) as string;
  } catch {
    return '';
  }
}
