// Reads request bodies: the 3 MiB limit of kube-apiserver, JSON, YAML and protobuf, and what kind of object was
// sent. A body that is too long is refused while it still arrives, so the answer goes out before the client finished
// sending.
import { parse } from 'yaml';
import type { Call } from '../cluster.ts';
import { headerValue } from './headers.ts';
import { decodeProtobuf } from './protobuf.ts';
import { StatusError, badRequest, tooLarge, unsupportedMediaType } from '../api/status-error.ts';
import { apiVersionOf } from '../store/resources.ts';
import type { JsonObject, KubeObject } from '../types.ts';

/** kube-apiserver's MaxRequestBodyBytes. */
const bodyLimitBytes = 3 * 1024 * 1024;
const protobufType = 'application/vnd.kubernetes.protobuf';
const mediaTypes = ['application/json', 'application/yaml', protobufType];

/**
 * The whole request body.
 * @throws StatusError 413 over the limit
 */
export async function readBody(call: Call): Promise<Buffer> {
  const declared = Number(headerValue(call.rawHeaders, 'content-length') ?? '0');
  const refuse = (): StatusError => {
    call.reply.once('finish', () => call.request.destroy());
    return tooLarge(`Request entity too large: limit is ${bodyLimitBytes}`);
  };
  if (declared > bodyLimitBytes) throw refuse();
  const chunks: Buffer[] = [];
  let length = 0;
  return new Promise((resolve, reject) => {
    call.request.on('data', (chunk: Buffer) => {
      length += chunk.length;
      if (length > bodyLimitBytes) {
        call.request.removeAllListeners('data');
        reject(refuse());
      } else chunks.push(chunk);
    });
    call.request.once('end', () => resolve(Buffer.concat(chunks)));
    call.request.once('error', reject);
    call.request.once('close', () => reject(badRequest('the request body was cut short')));
  });
}

/** Media type of the request, without parameters, lower case; '' when none was given. */
export function contentTypeOf(call: Call): string {
  return (headerValue(call.rawHeaders, 'content-type') ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
}

/** Parses JSON or YAML text into an object. */
export function parseObject(text: string, isYaml: boolean, kind?: string): JsonObject {
  let value: unknown;
  try {
    value = isYaml ? parse(text, { uniqueKeys: false }) : JSON.parse(text);
  } catch (error) {
    const why = error instanceof Error ? (error.message.split('\n', 1)[0] ?? '') : 'unreadable';
    const lead =
      kind === undefined ? 'error decoding' : `the object provided is unrecognized (must be of type ${kind})`;
    throw badRequest(`${lead}: couldn't get version/kind; json parse error: ${why} (${text.slice(0, 40)})`);
  }
  if (value === null || typeof value !== 'object' || Array.isArray(value))
    throw badRequest("couldn't get version/kind; json parse error: the body is not an object");
  return value as JsonObject;
}

/**
 * The body as an object (of a kind, for the message when it is none) of JSON, YAML or protobuf; undefined when empty.
 */
export async function readObject(call: Call, kind?: string): Promise<JsonObject | undefined> {
  const type = contentTypeOf(call);
  const isYaml = type === 'application/yaml' || type === 'application/x-yaml';
  const bytes = await readBody(call);
  if (bytes.length === 0) return undefined;
  if (type === protobufType) {
    const object = decodeProtobuf(call.cluster.messages, bytes);
    if (object === undefined) throw unsupportedMediaType(mediaTypes);
    return object;
  }
  if (type !== '' && type !== 'application/json' && !isYaml) throw unsupportedMediaType(mediaTypes);
  return parseObject(bytes.toString('utf8'), isYaml, kind);
}

/** What a body must be. */
export interface ExpectedKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

/**
 * The body as an object of a kind; apiVersion and kind filled in when absent.
 * @throws StatusError 400 when it is another kind
 */
export async function readKind(call: Call, expected: ExpectedKind): Promise<KubeObject> {
  return asKind((await readObject(call, expected.kind)) ?? {}, expected);
}

/** Checks and fills apiVersion, kind and metadata of a decoded object. */
export function asKind(object: JsonObject, expected: ExpectedKind): KubeObject {
  const apiVersion = apiVersionOf(expected);
  const kind: unknown = object['kind'] ?? expected.kind;
  const version: unknown = object['apiVersion'] ?? apiVersion;
  if (kind !== expected.kind) {
    const article = `${String(kind)} in version ${JSON.stringify(String(version).split('/').at(-1))}`;
    throw badRequest(
      `${article} cannot be handled as a ${expected.kind}: no kind "${String(kind)}" is registered here`,
    );
  }
  if (version !== apiVersion)
    throw badRequest(
      `${expected.kind} in version ${JSON.stringify(String(version))} cannot be handled as a ${expected.kind}: no kind "${expected.kind}" is registered for version "${String(version)}" in scheme "pkg/runtime/scheme.go:111"`,
    );
  const metadata: unknown = object['metadata'] ?? {};
  if (typeof metadata !== 'object' || metadata === null || Array.isArray(metadata))
    throw badRequest(`json: cannot unmarshal into Go struct field ${expected.kind}.metadata of type v1.ObjectMeta`);
  return { ...object, apiVersion, kind: expected.kind, metadata: metadata as KubeObject['metadata'] };
}
