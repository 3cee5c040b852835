// Watches and writes the AppliedManifestWorks of one member, always with the gateway's own credential. An
// AppliedManifestWork that was just written is cached until the watch delivers it, so that callers see their own
// writes.
import { createHash } from 'node:crypto';
import { startReflector, type Reflector } from '../../kube/reflector/reflector.ts';
import type { ReflectorState, ReflectorTiming } from '../../kube/reflector/reflector-types.ts';
import { isOlder, type ObjectChange } from '../../kube/reflector/object-set.ts';
import { isDeleting } from '../../kube/objects/objects.ts';
import type { ApiObject } from '../../kube/types.ts';
import { listAt, textAt, textsAt } from '../../lib/objects/json-object.ts';
import { makeObjectWriter, setFinalizer, type ObjectWriter } from '../../kube/objects/object-writer.ts';
import type { MemberClient } from '../member/member-client.ts';
import { appliedWorkFinalizer, appliedWorks, ownPrefix, workApiVersion } from '../work/manifest-work.ts';
import type { Work } from '../work/work.ts';

/** An entry of `status.appliedResources`: an object that was applied for the ManifestWork. */
export interface AppliedResource {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
  /** UID of the object; '' in an entry that was written before the object was created. */
  readonly uid: string;
}

/**
 * The fields of an AppliedManifestWork. They must not be trusted: anyone with the right to write it in the member can
 * forge them.
 */
export interface AppliedWork {
  /** The unparsed AppliedManifestWork as read from the member, needed for writing to it. */
  readonly object: ApiObject;
  readonly name: string;
  readonly uid: string;
  readonly isDeleting: boolean;
  readonly hasFinalizer: boolean;
  /** Hash of the hub's address. */
  readonly hubHash: string;
  /** Name of the agent that executes the work. */
  readonly agentId: string;
  /** Name of the ManifestWork on the hub. */
  readonly workName: string;
  /** The executor, the identity that wrote the objects; '' when none is recorded. */
  readonly executor: string;
  /** The state of the work that was last applied without failures, as keep-inventory.ts writes it; '' for none. */
  readonly appliedSpec: string;
  /** `status.appliedResources`. */
  readonly resources: readonly AppliedResource[];
  /**
   * When the ManifestWork was first found missing on the hub; undefined when it is not missing, or when the field has
   * no valid time.
   */
  readonly evictionStart: string | undefined;
}

/** Tells the AppliedManifestWorks of this gateway from those of other hubs and other agents. */
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
  own(): readonly AppliedWork[];
  /**
   * Returns one AppliedManifestWork that another agent made for ManifestWorks of this hub; undefined when there is
   * none.
   */
  foreign(): AppliedWork | undefined;
  /** Returns the AppliedManifestWork of a ManifestWork; undefined when there is none. */
  of(workName: string): AppliedWork | undefined;
  get(name: string): AppliedWork | undefined;
  /**
   * Creates the AppliedManifestWork of a ManifestWork if needed, and records in it the executor, the identity that
   * writes the objects. @throws HubRefusal, GatewayError
   */
  ensure(work: Work, executor: string): Promise<AppliedWork>;
  annotate(appliedWork: AppliedWork, annotations: Readonly<Record<string, string>>): Promise<void>;
  /** Changes the status. @returns the AppliedManifestWork as it is afterwards */
  writeStatus(appliedWork: AppliedWork, status: object): Promise<AppliedWork>;
  remove(appliedWork: AppliedWork): Promise<void>;
  removeFinalizer(appliedWork: AppliedWork): Promise<void>;
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
/** Annotation with the state of the ManifestWork that was last applied without failures, as `textOfSpec` writes it. */
export const appliedSpecAnnotation = `${ownPrefix}applied-spec`;

/** Caches the parsed AppliedManifestWorks, since every reconcile looks through all of them. */
const known = new WeakMap<ApiObject, AppliedWork>();

/** Parses an AppliedManifestWork, and caches the result. Fields of an unexpected type count as missing. */
export function readAppliedWork(object: ApiObject): AppliedWork {
  const before = known.get(object);
  if (before !== undefined) return before;
  const read = appliedWorkOf(object);
  known.set(object, read);
  return read;
}

function appliedWorkOf(object: ApiObject): AppliedWork {
  const { name, uid } = object.metadata;
  const start = textAt(object, 'status', 'evictionStartTime');
  return {
    ...{ object, name, uid, isDeleting: isDeleting(object) },
    hasFinalizer: textsAt(object, 'metadata', 'finalizers').includes(appliedWorkFinalizer),
    hubHash: textAt(object, 'spec', 'hubHash'),
    agentId: textAt(object, 'spec', 'agentID'),
    workName: textAt(object, 'spec', 'manifestWorkName'),
    executor: textAt(object, 'metadata', 'annotations', executorAnnotation),
    appliedSpec: textAt(object, 'metadata', 'annotations', appliedSpecAnnotation),
    resources: listAt(object, 'status', 'appliedResources').map(readResource),
    evictionStart: Number.isNaN(Date.parse(start)) ? undefined : start,
  };
}

function readResource(entry: unknown): AppliedResource {
  return {
    group: textAt(entry, 'group'),
    version: textAt(entry, 'version'),
    resource: textAt(entry, 'resource'),
    namespace: textAt(entry, 'namespace'),
    name: textAt(entry, 'name'),
    uid: textAt(entry, 'uid'),
  };
}

/** Hashes a hub's address as OCM's agent does. */
export function hashOfHub(url: string): string {
  return createHash('sha256').update(url).digest('hex');
}

/**
 * Milliseconds between attempts to list AppliedManifestWorks while the cluster does not serve them. Their
 * CustomResourceDefinition may be installed in the meantime.
 */
const missingPollMs = 10_000;
/**
 * Longest wait in milliseconds before a refused list is tried again, since the missing right may be granted in the
 * meantime.
 */
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
  const get = (name: string): AppliedWork | undefined => {
    const object = written.get(name) ?? reflector.objects.get(name);
    return object && readAppliedWork(object);
  };
  const all = (): readonly AppliedWork[] => [...reflector.objects.values()].map(readAppliedWork);
  const keep = (object: ApiObject): AppliedWork => {
    written.set(object.metadata.name, object);
    return readAppliedWork(object);
  };
  return {
    state: () => reflector.state(),
    lookAgain: () => reflector.lookAgain(),
    own: () => all().filter((each) => each.agentId === agentId),
    foreign: () => all().find((each) => each.hubHash === hubHash && each.agentId !== agentId),
    of: (workName) => get(nameOf(workName)),
    get,
    async ensure(work, executor) {
      const name = nameOf(work.name);
      const present = get(name);
      if (present === undefined)
        return keep(await writer.create(appliedWorks, newAppliedWork(options, name, work, executor)));
      if (present.executor === executor) return present;
      return keep(await annotated(writer, present, { [executorAnnotation]: executor }));
    },
    annotate: async (appliedWork, annotations) => void keep(await annotated(writer, appliedWork, annotations)),
    async writeStatus({ object }, status) {
      return keep(await writer.patchStatus(appliedWorks, object, status));
    },
    async remove({ object, name }) {
      await writer.remove(appliedWorks, object);
      written.delete(name);
    },
    async removeFinalizer({ object, name }) {
      await setFinalizer(writer, appliedWorks, object, { finalizer: appliedWorkFinalizer, wanted: false });
      written.delete(name);
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
  { object }: AppliedWork,
  annotations: Readonly<Record<string, string>>,
): Promise<ApiObject> {
  return await writer.patch(appliedWorks, object, { metadata: { annotations } });
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
