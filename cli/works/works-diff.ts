// `portcullis works diff`: shows what executing a ManifestWork would change in its cluster. The answers come from the
// cluster itself, by dry runs through the gateway with the rights of the person who runs the command; nothing is
// changed. The update strategy of each manifest is followed.
import { isJsonObject, objectsAt, type JsonObject } from '../../lib/objects/json-object.ts';
import { updatedObject } from '../../lib/objects/updated-object.ts';
import { matches } from '../../lib/text/star-pattern.ts';
import { createCall, patchCall, updateCall, type WriteCall } from '../../kube/objects/object-calls.ts';
import { discoverKinds, type Kinds, type ServedKind } from '../apply/cluster/kinds.ts';
import { pathOf } from '../../kube/paths.ts';
import { makeMemberClient, reasonOf, refusal, type MemberClient } from '../apply/cluster/member-client.ts';
import { objectDiff } from '../apply/manifests/object-diff.ts';
import { withoutSecrets } from '../apply/manifests/secret-values.ts';
import type { Connection } from '../connection/gateway-connection.ts';
import { Failure, printable } from '../terminal/failure.ts';
import type { Terminal } from '../terminal/terminal.ts';
import type { HubWorks, Work, WorkName } from './hub-works.ts';
import { manifestKey, manifestsIn, metadataOf, nameOf } from './work-manifests.ts';
import { historyOf, revisionIn, specOf } from './works-history.ts';
import { parseExact } from '../../lib/json/exact-json.ts';

export interface DiffFlags {
  /** Revision whose spec is compared with the cluster; undefined for the present spec. */
  readonly to?: number;
  readonly output: 'table' | 'json';
}

/** What would happen to one object. `unknown`: the cluster did not say, for the given `reason`. */
interface Change {
  readonly object: string;
  readonly change: 'created' | 'changed' | 'deleted' | 'none' | 'unknown';
  /** A unified diff; '' when nothing would change. */
  readonly diff: string;
  /** Why the cluster did not say what would happen to the object. */
  readonly reason?: string;
}

/**
 * Prints what would change, and nothing when the cluster is already as the ManifestWork says.
 * @throws Failure when hub or cluster cannot be asked, or when the cluster did not say for some objects what would
 * change
 */
export async function diffWork(
  { hub, gateway }: { readonly hub: HubWorks; readonly gateway: Connection },
  name: WorkName,
  flags: DiffFlags,
  terminal: Terminal,
): Promise<void> {
  const work = await hub.get(name);
  const present = isJsonObject(work['spec']) ? work['spec'] : {};
  const spec = flags.to === undefined ? present : specOf(revisionIn(await historyOf(work), flags.to, name), name);
  const client = makeMemberClient(gateway, name.cluster, new AbortController().signal);
  try {
    const changes = await changesIn(client, work, spec, name);
    if (flags.output === 'json') terminal.print(`${JSON.stringify({ items: changes }, null, 4)}\n`);
    else for (const { diff } of changes) terminal.print(printable(diff));
    const unknown = changes.filter(({ change }) => change === 'unknown');
    for (const { object, reason } of unknown) terminal.note(printable(`${name.cluster}: ${object}: ${reason}\n`));
    if (unknown.length > 0)
      throw new Failure(
        `cluster ${name.cluster} does not say what would change in ${unknown.length} objects`,
        'They are asked for as you. The executor of the work may have other rights.',
      );
  } finally {
    client.close();
  }
}

async function changesIn(
  client: MemberClient,
  work: Work,
  spec: JsonObject,
  name: WorkName,
): Promise<readonly Change[]> {
  let kinds: Kinds;
  try {
    kinds = await discoverKinds(client);
  } catch (error) {
    throw new Failure(`${name.cluster} cannot be asked: ${reasonOf(error)}`, `Clusters: portcullis get clusters`);
  }
  const changes: Change[] = [];
  for (const manifest of manifestsIn(spec)) changes.push(await changeOf({ client, kinds, spec }, manifest));
  for (const gone of goneFrom(work, spec)) changes.push(await deletionOf({ client, kinds, spec }, gone));
  return changes;
}

interface Asking {
  readonly client: MemberClient;
  readonly kinds: Kinds;
  readonly spec: JsonObject;
}

async function changeOf(asking: Asking, manifest: JsonObject): Promise<Change> {
  const object = nameOf(manifest);
  const unknown = (reason: string): Change => ({ object, change: 'unknown', diff: '', reason });
  const kind = asking.kinds.find(String(manifest['apiVersion']), String(manifest['kind']));
  const asWritten: Change = { object, change: 'created', diff: objectDiff(object, undefined, manifest) };
  if (kind === undefined)
    return makesKind(asking.spec, manifest)
      ? asWritten
      : unknown(`the cluster does not have the kind ${String(manifest['kind'])}`);
  try {
    const { namespace, name } = metadataOf(manifest);
    const path = pathOf(kind, String(namespace ?? ''), String(name));
    const read = await asking.client.ask({ method: 'GET', path });
    if (read.status !== 200 && read.status !== 404) return unknown(refusal(read));
    const live = read.status === 404 ? undefined : (parseExact(read.body) as JsonObject);
    const call = dryRunOf(asking.spec, { manifest, kind, live });
    if (call === undefined) return { object, change: 'none', diff: '' };
    const answer = await asking.client.ask(call);
    // A dry run stores nothing, so it cannot create an object in a namespace that the same ManifestWork would create
    // first.
    if (answer.status === 404 && live === undefined && makesNamespace(asking.spec, namespace)) return asWritten;
    if (answer.status >= 300) return unknown(withoutSecrets(refusal(answer), { ...asText(manifest) }));
    const diff = objectDiff(object, live, parseExact(answer.body) as JsonObject);
    return { object, change: live === undefined ? 'created' : diff === '' ? 'none' : 'changed', diff };
  } catch (error) {
    return unknown(reasonOf(error));
  }
}

function makesNamespace(spec: JsonObject, namespace: unknown): boolean {
  return manifestsIn(spec).some((each) => each['kind'] === 'Namespace' && metadataOf(each)['name'] === namespace);
}

/** Whether the spec contains the CustomResourceDefinition that defines the manifest's kind. */
function makesKind(spec: JsonObject, { apiVersion, kind }: JsonObject): boolean {
  return manifestsIn(spec).some(({ kind: defines, spec: definition }) => {
    if (defines !== 'CustomResourceDefinition' || !isJsonObject(definition)) return false;
    const { names, group } = definition;
    return isJsonObject(names) && names['kind'] === kind && String(apiVersion).startsWith(`${String(group)}/`);
  });
}

/**
 * The dry-run request whose answer is the object as it would become; undefined when the ManifestWork would not write
 * the object.
 */
function dryRunOf(
  spec: JsonObject,
  { manifest, kind, live }: { manifest: JsonObject; kind: ServedKind; live: JsonObject | undefined },
): WriteCall | undefined {
  const { namespace, name } = metadataOf(manifest);
  const path = pathOf(kind, String(namespace ?? ''), String(name));
  const strategy = strategyOf(spec, kind, manifest);
  const { type, serverSideApply } = strategy;
  if (type === 'ReadOnly' || (type === 'CreateOnly' && live !== undefined)) return undefined;
  if (type === 'ServerSideApply') {
    const { force, fieldManager = 'work-agent' } = isJsonObject(serverSideApply) ? serverSideApply : {};
    const options = { fieldManager: String(fieldManager), force: force === true, dryRun: true };
    return patchCall(path, { type: 'apply', ...options, body: manifest });
  }
  const options = { fieldManager: 'work-agent', dryRun: true };
  if (live !== undefined) return updateCall(path, updatedObject(live, manifest), options);
  return createCall(pathOf(kind, String(namespace ?? '')), manifest, options);
}

/**
 * The update strategy of the first entry in `manifestConfigs` that matches the manifest and has a strategy; {} when
 * there is none.
 */
function strategyOf({ manifestConfigs }: JsonObject, { apiVersion, resource }: ServedKind, manifest: JsonObject) {
  const group = apiVersion.includes('/') ? apiVersion.slice(0, apiVersion.indexOf('/')) : '';
  const { namespace = '', name } = metadataOf(manifest);
  for (const entry of objectsAt(manifestConfigs)) {
    const wanted = isJsonObject(entry['resourceIdentifier']) ? entry['resourceIdentifier'] : {};
    const isFor =
      String(wanted['group'] ?? '') === group &&
      wanted['resource'] === resource &&
      matches(String(wanted['namespace'] ?? ''), String(namespace)) &&
      matches(String(wanted['name'] ?? ''), String(name));
    if (isFor && isJsonObject(entry['updateStrategy'])) return entry['updateStrategy'];
  }
  return {};
}

/** The objects that the ManifestWork has applied, according to its status, and that the spec no longer contains. */
function goneFrom({ status }: Work, spec: JsonObject): readonly JsonObject[] {
  const wanted = new Set(manifestsIn(spec).map(manifestKey));
  const applied = isJsonObject(status) && isJsonObject(status['resourceStatus']) ? status['resourceStatus'] : {};
  return objectsAt(applied, 'manifests').flatMap(({ resourceMeta }) => {
    if (!isJsonObject(resourceMeta)) return [];
    const { group = '', version, kind, name, namespace = '' } = resourceMeta;
    const apiVersion = group === '' ? String(version) : `${String(group)}/${String(version)}`;
    const metadata = namespace === '' ? { name } : { namespace, name };
    const object = { apiVersion, kind, metadata };
    return wanted.has(manifestKey(object)) ? [] : [object];
  });
}

/**
 * Returns what would happen to an object that is no longer in the spec: it is deleted if this ManifestWork is its only
 * owner.
 */
async function deletionOf({ client, kinds }: Asking, gone: JsonObject): Promise<Change> {
  const object = nameOf(gone);
  const kind = kinds.find(String(gone['apiVersion']), String(gone['kind']));
  if (kind === undefined) return { object, change: 'none', diff: '' };
  try {
    const { namespace, name } = metadataOf(gone);
    const path = pathOf(kind, String(namespace ?? ''), String(name));
    const read = await client.ask({ method: 'GET', path });
    if (read.status === 404) return { object, change: 'none', diff: '' };
    if (read.status !== 200) return { object, change: 'unknown', diff: '', reason: refusal(read) };
    const live = parseExact(read.body) as JsonObject;
    const owners = objectsAt(metadataOf(live)['ownerReferences']).filter(
      (owner) => owner['kind'] === 'AppliedManifestWork',
    );
    // An object without an owner was orphaned or only read. An object with two owners is kept for the other
    // ManifestWork.
    if (owners.length !== 1) return { object, change: 'none', diff: '' };
    return { object, change: 'deleted', diff: objectDiff(object, live, undefined) };
  } catch (error) {
    return { object, change: 'unknown', diff: '', reason: reasonOf(error) };
  }
}

function asText(manifest: JsonObject): Parameters<typeof withoutSecrets>[1] {
  const { namespace, name } = metadataOf(manifest);
  return {
    apiVersion: String(manifest['apiVersion']),
    kind: String(manifest['kind']),
    name: String(name),
    namespace: String(namespace ?? ''),
    body: JSON.stringify(manifest),
    source: '',
  };
}
