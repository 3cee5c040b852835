// Writes the status of Karmada's ResourceRegistries, whenever one of them or the index has changed.
import { isDeepStrictEqual } from 'node:util';
import type { HubClient } from '../../cache/hub/hub-types.ts';
import { startReflector } from '../../cache/hub/reflector.ts';
import type { ReflectorTiming } from '../../cache/hub/reflector-types.ts';
import {
  readRegistry,
  registryGroup,
  registryPlural,
  storedRegistryVersion,
} from '../../cache/sources/objects/karmada-registries.ts';
import { conditionsOf, generationOf, withConditions } from '../../controllers/conditions.ts';
import { makeHubWriter } from '../../controllers/hub/hub-writer.ts';
import { isDeleting, type ResourceType } from '../../controllers/objects.ts';
import { makeQueue, type ControllerLog } from '../../controllers/queue/logged-queue.ts';
import { findingsOf, type IndexedRegistries } from './registry-status.ts';

export interface RegistryControllersOptions {
  readonly client: HubClient;
  readonly log: ControllerLog;
  readonly indexed: IndexedRegistries;
  readonly timing?: Partial<ReflectorTiming>;
}

const registries: ResourceType = { group: registryGroup, version: storedRegistryVersion, resource: registryPlural };
const missingPollMs = 5_000;
/** A right that was granted is noticed within this time. */
const maxBackoffMs = 5_000;
/** Changes of the index come in crowds, and one status tells them together. */
const gatherMs = 500;

/** Starts it; the function it returns ends it. */
export function startRegistryControllers({ client, log, indexed, timing }: RegistryControllersOptions): () => void {
  const writer = makeHubWriter(client);
  let gathering: NodeJS.Timeout | undefined;
  const objects = startReflector({
    client,
    resource: registries,
    timing: { missingPollMs, maxBackoffMs, ...timing },
    onChange: (changes) => {
      for (const { object } of changes) queue.add(object.metadata.name);
    },
    onState: ({ fault }) => {
      if (fault !== undefined) log.warn({ fault: fault.message }, 'ResourceRegistries of the hub cannot be read');
    },
    onError: (error) => log.error({ err: error }, 'a ResourceRegistry could not be handled'),
  });
  const queue = makeQueue('ResourceRegistry', 'import', log, async (name) => {
    const object = objects.objects.get(name);
    if (object === undefined || isDeleting(object)) return 'done';
    const registry = readRegistry(object);
    const before = conditionsOf(object);
    const findings = findingsOf(registry, indexed.clusters(name, registry.resources));
    const conditions = withConditions(before, findings, generationOf(object));
    if (!isDeepStrictEqual(before, conditions))
      await writer.patch(registries, object, { status: { conditions } }, '/status');
    return 'done';
  });
  const unsubscribe = indexed.onChange(() => {
    gathering ??= setTimeout(() => {
      gathering = undefined;
      for (const name of objects.objects.keys()) queue.add(name);
    }, gatherMs).unref();
  });
  return () => {
    unsubscribe();
    clearTimeout(gathering);
    queue.close();
    objects.close();
  };
}
