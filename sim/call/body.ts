// Reads request bodies in JSON, YAML or protobuf, up to kube-apiserver's limit of 3 MiB. A body that is too long is
// refused while it arrives, so the client gets the answer before it has sent everything.
import { parse } from 'yaml';
import type { Call } from './cluster.ts';
import { headerValue } from '../wire/headers.ts';
import { decodeProtobuf } from '../wire/protobuf.ts';
import { StatusError, badRequest, tooLarge, unsupportedMediaType } from '../model/status-error.ts';
import { apiVersionOf } from '../store/resources.ts';
import type { JsonObject, KubeObject } from '../model/types.ts';

/** Longest request body, as kube-apiserver's MaxRequestBodyBytes; a longer one gets 413. */
const bodyLimitBytes = 3 * 1024 * 1024;
const protobufType = 'application/vnd.kubernetes.protobuf';
const mediaTypes = ['application/json', 'application/yaml', protobufType];

/** Reads the whole request body. @throws StatusError 413 when the body is longer than 3 MiB */
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

/** The Content-Type of the request in lower case, without parameters; '' when the header is absent. */
export function contentTypeOf(call: Call): string {
  return (headerValue(call.rawHeaders, 'content-type') ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
}

/** Parses JSON or YAML text into an object. @throws StatusError 400 when the text is invalid or not an object */
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
 * Reads the request body as an object, from JSON, YAML or protobuf; undefined when the body is empty.
 * @param kind the expected kind, only for error messages
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

/** The kind that a request body must have. */
export interface ExpectedKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

/**
 * Reads the request body as an object of a kind. Missing apiVersion and kind are filled in.
 * @throws StatusError 400 when the object has another kind or version
 */
export async function readKind(call: Call, expected: ExpectedKind): Promise<KubeObject> {
  return asKind((await readObject(call, expected.kind)) ?? {}, expected);
}

/**
 * Checks that an object has the expected kind and version, and fills in apiVersion, kind and metadata.
 * @throws StatusError 400 when it has another kind or version
 */
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
