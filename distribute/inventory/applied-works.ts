// Reads and writes the AppliedManifestWorks of one member, always with the gateway's own credential. They are watched.
// An object that was just written is kept until the watch shows the write, so that callers see their own writes.
import { createHash } from 'node:crypto';
import { startReflector, type Reflector } from '../../kube/reflector/reflector.ts';
import type { ReflectorState, ReflectorTiming } from '../../kube/reflector/reflector-types.ts';
import { isOlder, type ObjectChange } from '../../kube/reflector/object-set.ts';
import type { ApiObject } from '../../kube/types.ts';
import { makeObjectWriter, setFinalizer, type ObjectWriter } from '../../kube/objects/object-writer.ts';
import { textAt } from '../../kube/objects/objects.ts';
import type { MemberClient } from '../member/member-client.ts';
import { appliedWorkFinalizer, appliedWorks, ownPrefix, workApiVersion } from '../work/manifest-work.ts';
import type { Work } from '../work/work.ts';

/** What marks the AppliedManifestWorks of this gateway, beside those of other hubs and other agents. */
export interface HubMark {
  /** SHA-256 hash of the hub's address; names of AppliedManifestWorks begin with it. */
  readonly hubHash: string;
  readonly agentId: string;
}

export interface AppliedWorks {
  state(): ReflectorState;
  /** Lists and watches again at once, without waiting for the next attempt, because the member may be reachable now. */
  lookAgain(): void;
  /** Returns the AppliedManifestWorks that this gateway made. */
  own(): readonly ApiObject[];
  /**
   * Returns one AppliedManifestWork that another agent made for ManifestWorks of this hub; undefined when there is
   * none.
   */
  foreign(): ApiObject | undefined;
  /** Returns the AppliedManifestWork of a ManifestWork; undefined when there is none. */
  of(workName: string): ApiObject | undefined;
  get(name: string): ApiObject | undefined;
  /**
   * Creates the AppliedManifestWork of a ManifestWork if needed, and records in it the executor, the identity that
   * writes the objects. @throws HubRefusal, GatewayError
   */
  ensure(work: Work, executor: string): Promise<ApiObject>;
  annotate(appliedWork: ApiObject, annotations: Readonly<Record<string, string>>): Promise<void>;
  writeStatus(appliedWork: ApiObject, status: object): Promise<void>;
  remove(appliedWork: ApiObject): Promise<void>;
  removeFinalizer(appliedWork: ApiObject): Promise<void>;
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

/**
 * Annotation with the executor, the identity that wrote the objects of the ManifestWork, so that the same identity
 * deletes them.
 */
export const executorAnnotation = `${ownPrefix}executor`;
/**
 * Annotation with the state of the ManifestWork that was last applied without failures, as `textOfSpec` in inventory.ts
 * writes it.
 */
export const appliedSpecAnnotation = `${ownPrefix}applied-spec`;

/** Hashes a hub's address as OCM's agent does. */
export function hashOfHub(url: string): string {
  return createHash('sha256').update(url).digest('hex');
}

/**
 * While the cluster does not serve AppliedManifestWorks, they are asked for again at this interval: their
 * CustomResourceDefinition may have been installed meanwhile. In milliseconds.
 */
const missingPollMs = 10_000;
/** Longest wait in milliseconds until a list that the cluster refused is asked for again: rights may have changed. */
const maxBackoffMs = 10_000;

export function followAppliedWorks(options: AppliedWorksOptions): AppliedWorks {
  const { client, hubHash, agentId } = options;
  const writer = makeObjectWriter(client);
  const written = new Map<string, ApiObject>();
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
  const get = (name: string): ApiObject | undefined => written.get(name) ?? reflector.objects.get(name);
  const keep = (object: ApiObject): ApiObject => {
    written.set(object.metadata.name, object);
    return object;
  };
  const isOfHub = (each: ApiObject): boolean => textAt(each, 'spec', 'hubHash') === hubHash;
  return {
    state: () => reflector.state(),
    lookAgain: () => reflector.lookAgain(),
    own: () => [...reflector.objects.values()].filter((each) => textAt(each, 'spec', 'agentID') === agentId),
    foreign: () =>
      [...reflector.objects.values()].find((each) => isOfHub(each) && textAt(each, 'spec', 'agentID') !== agentId),
    of: (workName) => get(nameOf(workName)),
    get,
    async ensure(work, executor) {
      const name = nameOf(work.name);
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

/**
 * Drops the kept copy of an object that was just written, once the watch has an object as new as the copy, or shows
 * that the object is gone.
 */
function forgetOlder(written: Map<string, ApiObject>, { type, object }: ObjectChange): void {
  const { name, uid, resourceVersion } = object.metadata;
  const ours = written.get(name);
  if (ours === undefined) return;
  const isNewer = ours.metadata.uid === uid && isOlder(resourceVersion, ours.metadata.resourceVersion);
  if (type === 'DELETED' ? ours.metadata.uid === uid : !isNewer) written.delete(name);
}

async function annotated(
  writer: ObjectWriter,
  appliedWork: ApiObject,
  annotations: Readonly<Record<string, string>>,
): Promise<ApiObject> {
  return await writer.patch(appliedWorks, appliedWork, { metadata: { annotations } });
}

function newAppliedWork({ hubHash, agentId }: HubMark, name: string, work: Work, executor: string): object {
  const { labels } = work.object.metadata;
  return {
    apiVersion: workApiVersion,
    kind: 'AppliedManifestWork',
    metadata: {
      name,
      ...(labels === undefined ? {} : { labels }),
      annotations: { [executorAnnotation]: executor },
      finalizers: [appliedWorkFinalizer],
    },
    spec: { hubHash, agentID: agentId, manifestWorkName: work.name },
  };
}
