// Serves Karmada's ResourceRegistry objects, for a hub that sends all requests for search.karmada.io/v1alpha1 to the
// gateway (APIService). The hub itself stores the objects, by a CustomResourceDefinition with another version of the
// same group. So the gateway passes requests on to the hub and rewrites only `apiVersion`. Security: the caller has
// been authorized for the object before this code runs; the hub is asked with the gateway's own credential.
import { GatewayError } from '../../../cache/model/errors.ts';
import type { HubCall, HubClient } from '../../../cache/hub/hub-types.ts';
import {
  registryGroup,
  registryPlural,
  storedRegistryVersion,
} from '../../../cache/sources/objects/karmada-registries.ts';
import { headerValue } from '../../../routing/forward/headers.ts';
import type { OpenStreams } from '../../../routing/forward/open-streams.ts';
import type { Authorized } from '../../exchange.ts';
import { makeAnswerWriter } from '../../fanout/answer-writer.ts';
import type { Surface } from '../../request/routes.ts';
import type { CompleteResponse } from '../../status.ts';
import { jsonHeaders } from '../../status.ts';
import { acceptedRanges } from '../accept.ts';
import { readBody } from '../request-body.ts';

type RegistriesSurface = Extract<Surface, { kind: 'registries' }>;

/**
 * Answers one request for ResourceRegistries.
 * @returns the answer to send; undefined for a watch, whose answer has been sent already
 * @throws GatewayError (rejects) HUB_UNAVAILABLE, NOT_ACCEPTABLE, UNSUPPORTED_MEDIA_TYPE, BAD_REQUEST or TOO_LARGE
 */
export type AnswerRegistries = (state: Authorized, surface: RegistriesSurface) => Promise<CompleteResponse | undefined>;

const served = `${registryGroup}/v1alpha1`;
const stored = `${registryGroup}/${storedRegistryVersion}`;
const timeoutMs = 15_000;
/** How many milliseconds the hub may take until the head of its answer to a watch; the hub itself ends the watch. */
const watchHeadMs = 15_000;
const methods: ReadonlySet<string> = new Set(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']);

export function makeRegistryAnswers(hub: HubClient, openStreams: OpenStreams): AnswerRegistries {
  return async (state, surface) => {
    const call = await hubCall(state, surface);
    if (state.info.verb === 'watch') {
      await relayWatch(state, call, hub, openStreams);
      return undefined;
    }
    const { status, body } = await hub.request(call);
    const shown = withVersion(body, stored, served);
    return { status, headers: jsonHeaders(shown.length, state.auditId), body: shown };
  };
}

async function hubCall(state: Authorized, { name, subresource }: RegistriesSurface): Promise<HubCall> {
  const { inbound, headers, target } = state;
  const method = inbound.method === 'HEAD' ? 'GET' : inbound.method;
  if (!methods.has(method)) throw new GatewayError('METHOD_NOT_ALLOWED', `${method} is not supported on this path`);
  const rest = [name, subresource].filter((part) => part !== undefined).map(encodeURIComponent);
  const path = ['/apis', stored, registryPlural, ...rest].join('/') + target.query;
  const call = { method: method as HubCall['method'], path, accept: acceptedJson(state), timeoutMs };
  if (inbound.body === 'none') return call;
  const body = await readBody(inbound);
  if (body.length === 0) return call;
  const contentType = headerValue(headers, 'content-type') ?? 'application/json';
  return { ...call, contentType, body: versioned(parsed(body), served, stored) };
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

/** Parses a body as JSON. Server-side apply declares YAML, but clients write its body as JSON, which is valid YAML. */
function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    throw new GatewayError('BAD_REQUEST', 'the body of the request is not valid JSON');
  }
}

/** A copy of the value in which every `apiVersion` equal to `from` is `to`, also in lists, Tables and managedFields. */
function versioned(value: unknown, from: string, to: string): unknown {
  if (Array.isArray(value)) return value.map((each) => versioned(each, from, to));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, field]) => [
      key,
      key === 'apiVersion' && field === from ? to : versioned(field, from, to),
    ]),
  );
}

function withVersion(body: Buffer, from: string, to: string): Buffer {
  try {
    return Buffer.from(`${JSON.stringify(versioned(JSON.parse(body.toString('utf8')), from, to))}\n`);
  } catch {
    throw new GatewayError('HUB_UNAVAILABLE', 'the hub answered something that is not JSON');
  }
}

/** Relays a watch from the hub to the client, event by event, until the hub, the client or the gateway ends it. */
async function relayWatch(state: Authorized, call: HubCall, hub: HubClient, openStreams: OpenStreams): Promise<void> {
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
      const lines = text
        .subarray(0, end)
        .toString('utf8')
        .split('\n')
        .filter((line) => line !== '');
      if (lines.length > 0)
        await writer.write(Buffer.concat(lines.map((line) => withVersion(Buffer.from(line), stored, served))));
    }
    if (rest.length > 0) await writer.write(withVersion(rest, stored, served));
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
