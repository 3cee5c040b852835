// Reads and writes the AppliedManifestWorks of one member, always with the gateway's own credential. They are watched,
// and an object that was just written is used until its event comes.
import { createHash } from 'node:crypto';
import { startReflector, type Reflector } from '../../cache/hub/reflector.ts';
import type { ReflectorState, ReflectorTiming } from '../../cache/hub/reflector-types.ts';
import { isOlder, type ObjectChange } from '../../cache/hub/object-set.ts';
import type { HubObject } from '../../cache/hub/hub-types.ts';
import { makeHubWriter, setFinalizer, type HubWriter } from '../../controllers/hub/hub-writer.ts';
import { textAt } from '../../controllers/objects.ts';
import type { MemberClient } from '../member/member-client.ts';
import { appliedWorkFinalizer, appliedWorks, ownPrefix, workApiVersion } from '../work/manifest-work.ts';

/** Tells this executor's AppliedManifestWorks from those of other hubs and agents. */
export interface HubMark {
  /** Hash of the hub's address, with which the names of AppliedManifestWorks begin. */
  readonly hubHash: string;
  readonly agentId: string;
}

export interface AppliedWorks {
  state(): ReflectorState;
  /** Lists and watches again at once, because the member may be reachable now. */
  lookAgain(): void;
  /** Returns the AppliedManifestWorks that this executor made. */
  own(): readonly HubObject[];
  /** Returns one AppliedManifestWork that another agent made for works of this hub; undefined when there is none. */
  foreign(): HubObject | undefined;
  /** Returns the AppliedManifestWork of a work; undefined when there is none. */
  of(workName: string): HubObject | undefined;
  get(name: string): HubObject | undefined;
  /**
   * Creates the AppliedManifestWork of a work if needed, and records the executor in it. @throws HubRefusal,
   * GatewayError
   */
  ensure(work: HubObject, executor: string): Promise<HubObject>;
  annotate(appliedWork: HubObject, annotations: Readonly<Record<string, string>>): Promise<void>;
  writeStatus(appliedWork: HubObject, status: object): Promise<void>;
  remove(appliedWork: HubObject): Promise<void>;
  removeFinalizer(appliedWork: HubObject): Promise<void>;
  close(): void;
}

export interface AppliedWorksOptions extends HubMark {
  /** Sends requests to the member with the gateway's own credential. */
  readonly client: MemberClient;
  readonly onChange: (names: readonly string[]) => void;
  readonly onState: () => void;
  readonly onError: (error: unknown) => void;
  readonly timing?: Partial<ReflectorTiming>;
}

/** Annotation with the executor that wrote the objects of the work, so that the same one deletes them. */
export const executorAnnotation = `${ownPrefix}executor`;
/** Annotation with the last generation of the work that was applied without failures, see inventory.ts. */
export const appliedSpecAnnotation = `${ownPrefix}applied-spec`;

/** Hashes a hub's address as OCM's agent does. */
export function hashOfHub(url: string): string {
  return createHash('sha256').update(url).digest('hex');
}

/**
 * Milliseconds until a newly installed CustomResourceDefinition is noticed; the next constant is that for a new right.
 */
const missingPollMs = 10_000;
const maxBackoffMs = 10_000;

export function followAppliedWorks(options: AppliedWorksOptions): AppliedWorks {
  const { client, hubHash, agentId } = options;
  const writer = makeHubWriter(client);
  const written = new Map<string, HubObject>();
  const reflector: Reflector = startReflector({
    client,
    resource: appliedWorks,
    timing: { missingPollMs, maxBackoffMs, ...options.timing },
    onChange(changes) {
      for (const change of changes) forgetOlder(written, change);
      options.onChange(changes.map(({ object }) => object.metadata.name));
    },
    onState: options.onState,
    onError: options.onError,
  });
  const nameOf = (workName: string): string => `${hubHash}-${workName}`;
  const get = (name: string): HubObject | undefined => written.get(name) ?? reflector.objects.get(name);
  const keep = (object: HubObject): HubObject => {
    written.set(object.metadata.name, object);
    return object;
  };
  const isOfHub = (each: HubObject): boolean => textAt(each, 'spec', 'hubHash') === hubHash;
  return {
    state: () => reflector.state(),
    lookAgain: () => reflector.lookAgain(),
    own: () => [...reflector.objects.values()].filter((each) => textAt(each, 'spec', 'agentID') === agentId),
    foreign: () =>
      [...reflector.objects.values()].find((each) => isOfHub(each) && textAt(each, 'spec', 'agentID') !== agentId),
    of: (workName) => get(nameOf(workName)),
    get,
    async ensure(work, executor) {
      const name = nameOf(work.metadata.name);
      const present = get(name);
      if (present === undefined)
        return keep(await writer.create(appliedWorks, newAppliedWork(options, name, work, executor)));
      if (textAt(present, 'metadata', 'annotations', executorAnnotation) === executor) return present;
      return keep(await annotated(writer, present, { [executorAnnotation]: executor }));
    },
    annotate: async (appliedWork, annotations) => void keep(await annotated(writer, appliedWork, annotations)),
    async writeStatus(appliedWork, status) {
      const { resourceVersion } = appliedWork.metadata;
      keep(await writer.patch(appliedWorks, appliedWork, { metadata: { resourceVersion }, status }, '/status'));
    },
    async remove(appliedWork) {
      await writer.remove(appliedWorks, appliedWork);
      written.delete(appliedWork.metadata.name);
    },
    async removeFinalizer(appliedWork) {
      await setFinalizer(writer, appliedWorks, appliedWork, { finalizer: appliedWorkFinalizer, wanted: false });
      written.delete(appliedWork.metadata.name);
    },
    close: () => reflector.close(),
  };
}

/** Drops an object that was just written once the watch is as new as the object, or shows that it is gone. */
function forgetOlder(written: Map<string, HubObject>, { type, object }: ObjectChange): void {
  const { name, uid, resourceVersion } = object.metadata;
  const ours = written.get(name);
  if (ours === undefined) return;
  const isNewer = ours.metadata.uid === uid && isOlder(resourceVersion, ours.metadata.resourceVersion);
  if (type === 'DELETED' ? ours.metadata.uid === uid : !isNewer) written.delete(name);
}

async function annotated(
  writer: HubWriter,
  appliedWork: HubObject,
  annotations: Readonly<Record<string, string>>,
): Promise<HubObject> {
  return await writer.patch(appliedWorks, appliedWork, { metadata: { annotations } });
}

function newAppliedWork({ hubHash, agentId }: HubMark, name: string, work: HubObject, executor: string): object {
  const { labels } = work.metadata;
  return {
    apiVersion: workApiVersion,
    kind: 'AppliedManifestWork',
    metadata: {
      name,
      ...(labels === undefined ? {} : { labels }),
      annotations: { [executorAnnotation]: executor },
      finalizers: [appliedWorkFinalizer],
    },
    spec: { hubHash, agentID: agentId, manifestWorkName: work.metadata.name },
  };
}
