// Serves Karmada's ResourceRegistry objects, for a hub that sends all requests for search.karmada.io/v1alpha1 to the
// gateway (APIService). The hub itself stores the objects, by a CustomResourceDefinition with another version of the
// same group. So the gateway passes requests on to the hub and rewrites only `apiVersion`. Security: the caller has
// been authorized for the object before this code runs. The hub gets the request with the gateway's own credential and
// cannot check the caller's rights. So rights that a kube-apiserver would check in addition (`create` for server-side
// apply) are checked here.
import { forbidden, type Authorizer } from '../../auth/rules/authorize.ts';
import { GatewayError } from '../../model/errors.ts';
import type { ApiCall, ApiClient } from '../../kube/types.ts';
import {
  registryGroup,
  registryPlural,
  storedRegistryVersion,
} from '../../cache/sources/objects/karmada-registries.ts';
import { withApiVersions, withUid } from '../../lib/json/api-versions.ts';
import { textAt } from '../../lib/json/raw-json.ts';
import { headerValue } from '../../routing/forward/headers.ts';
import type { OpenStreams } from '../../routing/forward/open-streams.ts';
import type { Authorized } from '../../request/exchange.ts';
import { makeAnswerWriter } from '../fanout/members/answer-writer.ts';
import type { Surface } from '../../request/routes.ts';
import type { CompleteResponse } from '../../request/answer/status.ts';
import { jsonHeaders } from '../../request/answer/status.ts';
import { attributesOf } from '../../request/attributes.ts';
import { acceptedRanges } from '../../request/answer/accept.ts';
import { readBody } from '../../request/answer/request-body.ts';

type RegistriesSurface = Extract<Surface, { kind: 'registries' }>;

/**
 * Answers one request for ResourceRegistries.
 * @returns the answer to send; undefined for a watch, whose answer has been sent already
 * @throws GatewayError (rejects) HUB_UNAVAILABLE, NOT_ACCEPTABLE, UNSUPPORTED_MEDIA_TYPE, BAD_REQUEST, TOO_LARGE, or
 *   FORBIDDEN for an object that the caller may patch and not create
 */
export type AnswerRegistries = (state: Authorized, surface: RegistriesSurface) => Promise<CompleteResponse | undefined>;

const served = `${registryGroup}/v1alpha1`;
const stored = `${registryGroup}/${storedRegistryVersion}`;
const timeoutMs = 15_000;
/** How many milliseconds the hub may take until the head of its answer to a watch; the hub itself ends the watch. */
const watchHeadMs = 15_000;
const methods: ReadonlySet<string> = new Set(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']);

export function makeRegistryAnswers(
  hub: ApiClient,
  openStreams: OpenStreams,
  authorizer: Authorizer,
): AnswerRegistries {
  return async (state, surface) => {
    const call = await allowedCall(state, await hubCall(state, surface), hub, authorizer);
    if (state.info.verb === 'watch') {
      await relayWatch(state, call, hub, openStreams);
      return undefined;
    }
    const { status, body } = await hub.request(call);
    const answer = shown(body);
    return { status, headers: jsonHeaders(answer.length, state.auditId), body: answer };
  };
}

/** Patches that never create an object, whatever they hold (apiserver:pkg/endpoints/handlers/patch.go). */
const changingOnly: ReadonlySet<string> = new Set([
  'application/json-patch+json',
  'application/merge-patch+json',
  'application/strategic-merge-patch+json',
]);

/**
 * Checks a server-side apply. Apply creates the object when it does not exist, and kube-apiserver then requires the
 * right to `create`. For a caller without that right, the UID of the existing object is written into the body: then the
 * hub refuses the request if that object has been deleted in the meantime, and creates nothing.
 * @throws GatewayError (rejects) FORBIDDEN when the object does not exist and the caller may not create it
 */
async function allowedCall(state: Authorized, call: ApiCall, hub: ApiClient, authorizer: Authorizer): Promise<ApiCall> {
  if (call.method !== 'PATCH' || changingOnly.has(call.contentType?.split(';')[0] ?? '')) return call;
  const attributes = attributesOf(state.user, undefined, undefined, { ...state.info, verb: 'create' }, '');
  const { allowed, reason } = await authorizer.authorize(attributes);
  if (allowed) return call;
  const found = await hub.request({ method: 'GET', path: call.path.split('?')[0]!, timeoutMs });
  const uid = found.status === 200 ? textAt(found.body, ['metadata', 'uid']) : undefined;
  if (uid === undefined || !Buffer.isBuffer(call.body)) throw forbidden(attributes, reason);
  const body = withUid(call.body, uid);
  if (body !== undefined) return { ...call, body };
  throw new GatewayError(
    'BAD_REQUEST',
    'the body must have exactly one metadata, with at most one uid, which must be a string',
  );
}

async function hubCall(state: Authorized, { name, subresource }: RegistriesSurface): Promise<ApiCall> {
  const { inbound, headers, target } = state;
  const method = inbound.method === 'HEAD' ? 'GET' : inbound.method;
  if (!methods.has(method)) throw new GatewayError('METHOD_NOT_ALLOWED', `${method} is not supported on this path`);
  const rest = [name, subresource].filter((part) => part !== undefined).map(encodeURIComponent);
  const path = ['/apis', stored, registryPlural, ...rest].join('/') + target.query;
  const call = { method: method as ApiCall['method'], path, accept: acceptedJson(state), timeoutMs };
  if (inbound.body === 'none') return call;
  const body = await readBody(inbound);
  if (body.length === 0) return call;
  const contentType = headerValue(headers, 'content-type') ?? 'application/json';
  return { ...call, contentType, body: written(body) };
}

/**
 * The Accept header for the hub: the JSON forms that the client accepts, because only JSON can be rewritten.
 * @throws GatewayError NOT_ACCEPTABLE when the client accepts no JSON
 */
function acceptedJson({ headers }: Authorized): string {
  const ranges = acceptedRanges(headers);
  if (ranges.length === 0) return 'application/json';
  const accepted = ranges
    .filter(({ mediaType }) => ['application/json', 'application/*', '*/*'].includes(mediaType))
    .map(({ parameters }) => {
      const kept = ['as', 'v', 'g'].flatMap((key) => (parameters.has(key) ? [`${key}=${parameters.get(key)}`] : []));
      return ['application/json', ...kept].join(';');
    });
  if (accepted.length > 0) return accepted.join(', ');
  throw new GatewayError('NOT_ACCEPTABLE', 'only the following media types will be accepted: application/json');
}

/**
 * Changes `apiVersion` in a request body to the version that the hub stores. The body must be JSON, also for
 * server-side apply: its Content-Type says YAML, but clients send JSON, which is valid YAML.
 */
function written(body: Buffer): Buffer {
  try {
    return withApiVersions(body, served, stored);
  } catch {
    throw new GatewayError('BAD_REQUEST', 'the body of the request is not valid JSON');
  }
}

/** Changes `apiVersion` in an answer of the hub to the version that the gateway serves. */
function shown(body: Buffer): Buffer {
  try {
    return withApiVersions(body, stored, served);
  } catch {
    throw new GatewayError('HUB_UNAVAILABLE', 'the hub answered something that is not JSON');
  }
}

/** Relays a watch from the hub to the client, event by event, until the hub, the client or the gateway ends it. */
async function relayWatch(state: Authorized, call: ApiCall, hub: ApiClient, openStreams: OpenStreams): Promise<void> {
  const ended = new AbortController();
  let last: string | undefined;
  const writer = makeAnswerWriter(
    state,
    { openStreams },
    {
      kind: 'watch',
      onEnd: (statusJson) => {
        last = statusJson;
        ended.abort();
      },
    },
  );
  const signal = AbortSignal.any([writer.signal, ended.signal]);
  try {
    const stream = await hub.open({ ...call, timeoutMs: watchHeadMs, signal });
    signal.addEventListener('abort', () => stream.close(), { once: true });
    writer.head(stream.status);
    let rest = Buffer.alloc(0);
    for await (const chunk of stream.chunks) {
      const text = Buffer.concat([rest, chunk]);
      const end = text.lastIndexOf(0x0a) + 1;
      rest = text.subarray(end);
      const events = linesOf(text.subarray(0, end)).map(shown);
      if (events.length > 0) await writer.write(Buffer.concat(events));
    }
    if (rest.length > 0) await writer.write(shown(rest));
    writer.end();
  } catch (error) {
    if (!state.inbound.answered) throw error;
    if (!ended.signal.aborted) return state.inbound.abort();
    if (last !== undefined) state.inbound.write(Buffer.from(`{"type":"ERROR","object":${last}}\n`));
    writer.end();
  } finally {
    writer.close();
  }
}

/** Splits a text into its lines. Each line keeps its line break; empty lines are left out. */
function linesOf(text: Buffer): readonly Buffer[] {
  const lines: Buffer[] = [];
  for (let at = 0; at < text.length;) {
    const end = text.indexOf(0x0a, at) + 1;
    if (end > at + 1) lines.push(text.subarray(at, end));
    at = end;
  }
  return lines;
}
