// Waits until an object is ready, by a watch on this one object.
import { setTimeout as sleep } from 'node:timers/promises';
import { isJsonObject, type JsonObject } from '../../../lib/objects/json-object.ts';
import type { ServedKind } from './kinds.ts';
import { pathOf } from '../../../kube/paths.ts';
import { refusal, Unreachable } from './member-client.ts';
import type { MemberClient } from './member-client.ts';
import { readinessOf } from '../../../lib/objects/readiness/readiness.ts';
import { parseExact } from '../../../lib/json/exact-json.ts';

/** Milliseconds to pause before the object is read again after its watch has ended. */
const pauseMs = 1000;

/**
 * Waits until one object is ready, or has failed for good.
 * @param signal ends the waiting
 * @param onReason called with each reason why the object is not ready
 * @returns undefined when the object is ready, otherwise the last reason
 * @throws Unreachable (rejects) when the cluster cannot be reached
 */
export async function waitReady(
  client: MemberClient,
  kind: ServedKind,
  object: { readonly namespace: string; readonly name: string },
  signal: AbortSignal,
  onReason: (reason: string) => void,
): Promise<string | undefined> {
  let last = 'was not looked at';
  /** Whether the waiting ends with this state of the object: it is ready, or it has failed. */
  const isOver = (seen: JsonObject): boolean => {
    const readiness = readinessOf(seen);
    if (readiness.state === 'ready') return true;
    last = readiness.reason;
    onReason(last);
    return readiness.state === 'failed';
  };
  const isReady = (seen: JsonObject): boolean => readinessOf(seen).state === 'ready';
  while (!signal.aborted) {
    const path = pathOf(kind, object.namespace, object.name);
    const answer = await client.ask({ method: 'GET', path });
    if (answer.status !== 200) return refusal(answer);
    const current = parseExact(answer.body) as JsonObject;
    if (isOver(current)) return isReady(current) ? undefined : last;
    const watched = await firstThat(client, watchPath(kind, object, current), signal, isOver);
    if (watched !== undefined) return isReady(watched) ? undefined : last;
    await sleep(pauseMs, undefined, { signal }).catch(() => undefined);
  }
  return last;
}

/** Reads a watch up to the first state of the object that ends the waiting; undefined when the watch ends before. */
async function firstThat(
  client: MemberClient,
  path: string,
  signal: AbortSignal,
  isOver: (seen: JsonObject) => boolean,
): Promise<JsonObject | undefined> {
  try {
    for await (const { type, object } of client.events(path, signal)) {
      if (type === 'ERROR' || type === 'DELETED') return undefined;
      if (isJsonObject(object) && type !== 'BOOKMARK' && isOver(object)) return object;
    }
  } catch (error) {
    // The watch broke off. The next GET of the object shows whether the cluster can still be reached.
    if (!(error instanceof Unreachable)) throw error;
  }
  return undefined;
}

function watchPath(
  kind: ServedKind,
  { namespace, name }: { readonly namespace: string; readonly name: string },
  current: JsonObject,
): string {
  const version = isJsonObject(current['metadata']) ? String(current['metadata']['resourceVersion']) : '';
  const query = new URLSearchParams({
    watch: 'true',
    fieldSelector: `metadata.name=${name}`,
    resourceVersion: version,
  });
  return `${pathOf(kind, namespace)}?${query.toString()}`;
}
