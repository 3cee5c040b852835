// Reconciles one grant (TenantBinding or ClusterPermission) in one member: makes the objects that the member should
// have, as the author (the user who changed the grant last), and removes those that it should not have any more.
// Everything is tried by a dry run first, so that a member that refuses one of the bindings gets none of them.
import { fieldOf, textAt } from '../../lib/objects/json-object.ts';
import { GatewayError } from '../../model/errors.ts';
import { accessKinds } from '../../distribute/member/rbac-kinds.ts';
import { MemberRefusal, type MemberObjects } from '../../distribute/member/member-objects.ts';
import { authorFrom, type Author } from '../../distribute/stamp/authors.ts';
import {
  fieldManager,
  GrantFault,
  type ClusterResult,
  type GrantedObject,
  type Phase,
  type RbacObject,
} from '../object/grant.ts';
import {
  hasOtherRole,
  isAsWanted,
  isMarked,
  render,
  titleOf,
  type Mark,
  type Rendering,
  type Wanted,
} from './manifests.ts';
import { isForbidden, kindsOf, type TenantSession } from './tenant-session.ts';

export interface GrantParts {
  readonly session: TenantSession;
  /** Key of the grant (TenantBinding or ClusterPermission), as `grantKey` makes it. */
  readonly grant: string;
  readonly mark: Mark;
  /** The last result for this member, including the objects that `announce` has recorded. */
  readonly known: () => ClusterResult | undefined;
  /** Records objects on the hub before they are made in the member. Resolves when the hub has the record. */
  readonly announce: (objects: readonly GrantedObject[], author: Author) => Promise<void>;
}

/**
 * The result of one reconciliation. `afterMs`: milliseconds until the next one; undefined when only a change causes it.
 */
export interface GrantOutcome {
  readonly phase: Phase;
  readonly reason: string;
  readonly message: string;
  readonly objects: readonly GrantedObject[];
  readonly afterMs?: number;
}

/** Milliseconds until a member cluster that has refused an object is asked again. */
const refusedMs = 60_000;

interface Checked extends Wanted {
  /** The object as the member has it; undefined when it does not exist. */
  readonly live: unknown;
}

/**
 * Makes the RBAC objects in the member, and removes recorded objects that are not among them.
 * @throws GatewayError when the member cannot be reached
 */
export async function reconcileGrant(
  parts: GrantParts,
  rbacObjects: readonly RbacObject[],
  author: Author,
): Promise<GrantOutcome> {
  const recorded = parts.known()?.objects ?? [];
  const tell = (phase: Phase, reason: string, message: string, objects = recorded, afterMs?: number): GrantOutcome => ({
    ...{ phase, reason, message, objects },
    ...(afterMs === undefined ? {} : { afterMs }),
  });
  try {
    const rendering = renderNow(parts, rbacObjects, author);
    if (rendering === 'reading') return tell('Pending', 'Reading', 'the namespaces of the cluster are being read');
    const { wanted, missing } = rendering;
    const kept = wanted.flatMap(({ granted }) => (granted === undefined ? [] : [granted]));
    const names = new Set(kept.map(nameOf));
    const gone = recorded.filter((each) => !names.has(nameOf(each)));
    const applied = await applyAll(parts, wanted, author).catch((error: unknown) => {
      if (error instanceof GatewayError && error.code !== 'IDENTITY_REFUSED') throw error;
      return error as Error;
    });
    const left = await removeAll(parts, gone, author);
    if (applied instanceof Error) {
      const stayed = (parts.known()?.objects ?? []).filter((each) => names.has(nameOf(each)));
      return { ...refusal(applied, author), objects: [...stayed, ...left.objects] };
    }
    const objects = [...applied, ...left.objects];
    if (left.fault !== undefined) return tell('Error', 'RemovalRefused', left.fault, objects, refusedMs);
    const message = missing.length === 0 ? '' : `waiting for namespaces: ${missing.join(', ')}`;
    const isWatched = parts.session.isWatched(author, kindsOf(kept));
    return tell('Applied', 'Applied', message, objects, isWatched ? undefined : refusedMs);
  } catch (error) {
    if (error instanceof GrantFault) return tell('Error', error.reason, error.message);
    throw error;
  }
}

function renderNow(
  { session, grant, mark }: GrantParts,
  rbacObjects: readonly RbacObject[],
  author: Author,
): Rendering | 'reading' {
  const inNamespaces = rbacObjects.filter(({ where }) => where !== undefined);
  session.follow(grant, author, kindsOf(rbacObjects), inNamespaces.length > 0);
  if (inNamespaces.length === 0) return render(rbacObjects, mark, undefined);
  const namespaces = session.namespaces(author);
  if (namespaces === 'reading') return 'reading';
  if (!('fault' in namespaces)) return render(rbacObjects, mark, namespaces);
  const selects = inNamespaces.some(({ where }) => where !== undefined && 'selector' in where);
  if (selects)
    throw new GrantFault(`the namespaces cannot be selected as ${author.modifier.name}: ${namespaces.fault}`);
  return render(rbacObjects, mark, undefined);
}

/** Applies the objects that are missing or differ. Returns all objects with their UIDs. */
async function applyAll(
  parts: GrantParts,
  wanted: readonly Wanted[],
  author: Author,
): Promise<readonly GrantedObject[]> {
  const { session, mark } = parts;
  const all: Checked[] = [];
  for (const each of wanted) all.push({ ...each, live: await session.live(author, each.object, mark) });
  const foreign = all.find(
    ({ live, granted }) => live !== undefined && granted !== undefined && !isMarked(live, mark.uid),
  );
  if (foreign !== undefined)
    throw new GrantFault(`${titleOf(foreign.object)} is in the cluster already, and was not made by ${mark.title}`);
  const changed = all.filter(
    ({ live, ...each }) => live === undefined || (each.granted !== undefined && !isAsWanted(live, each)),
  );
  const made = new Map<string, GrantedObject>();
  if (changed.length > 0) {
    const objects = session.objects(author, mark);
    const untried = await dryRun(objects, changed, author);
    await parts.announce(
      changed.flatMap(({ granted }) => (granted === undefined ? [] : [granted])),
      author,
    );
    const [bindings, others] = [changed.filter(isBinding), changed.filter((each) => !isBinding(each))];
    for (const each of others) await apply(objects, each, made);
    // The roles and namespaces to which these bindings refer exist now, so the bindings can be checked.
    const stillUntried = await dryRun(objects, untried.filter(isBinding), author);
    if (stillUntried.length > 0)
      throw new GrantFault(`${titleOf(stillUntried[0]!.object)} cannot be made: its role or namespace is missing`);
    for (const each of bindings) await apply(objects, each, made);
  }
  return all.flatMap(({ granted, live }) =>
    granted === undefined ? [] : [made.get(nameOf(granted)) ?? { ...granted, uid: textAt(live, 'metadata', 'uid') }],
  );
}

function isBinding({ object }: Wanted): boolean {
  return object.kind.kind.endsWith('Binding');
}

/**
 * Has the member check every object by a dry run as the author. Returns the objects that cannot be checked yet, because
 * their role or namespace does not exist: it is made together with them.
 */
async function dryRun(
  objects: MemberObjects,
  changed: readonly Checked[],
  author: Author,
): Promise<readonly Checked[]> {
  const untried: Checked[] = [];
  for (const each of changed) {
    const { object, body, live } = each;
    // The role of a binding cannot be changed, so such a binding is deleted and created again. The dry run then uses
    // another name.
    const isAnew = live !== undefined && hasOtherRole(live, body);
    const name = isAnew ? `${object.name}:anew` : object.name;
    const metadata = { ...(fieldOf(body, 'metadata') as object), name };
    try {
      const checked = { ...body, metadata };
      await objects.patch(
        { ...object, name },
        { type: 'apply', fieldManager, force: true, dryRun: true, body: checked },
      );
      if (isAnew && !(await objects.may('delete', object)))
        throw new GrantFault(`${author.modifier.name} may not delete ${titleOf(object)}, which has to be made anew`);
    } catch (error) {
      if (!(error instanceof MemberRefusal) || error.status !== 404) throw error;
      untried.push(each);
    }
  }
  return untried;
}

async function apply(
  objects: MemberObjects,
  { object, body, live, granted }: Checked,
  made: Map<string, GrantedObject>,
) {
  if (live !== undefined && hasOtherRole(live, body)) await objects.remove(object, textAt(live, 'metadata', 'uid'));
  const now = await objects.patch(object, { type: 'apply', fieldManager, force: true, body });
  if (granted !== undefined) made.set(nameOf(granted), { ...granted, uid: textAt(now, 'metadata', 'uid') });
}

/**
 * Removes everything that the grant (TenantBinding or ClusterPermission) has made in the member. @throws GatewayError
 * when the member cannot be reached
 */
export async function revokeGrant(parts: GrantParts, author: Author | undefined): Promise<GrantOutcome> {
  parts.session.follow(parts.grant, undefined, [], false);
  const left = await removeAll(parts, parts.known()?.objects ?? [], author);
  if (left.fault === undefined) return { phase: 'Removed', reason: 'Removed', message: '', objects: [] };
  return { phase: 'Error', reason: 'RemovalRefused', message: left.fault, objects: left.objects, afterMs: refusedMs };
}

/**
 * Removes those of the objects that still have the recorded UID and the label of the grant (TenantBinding or
 * ClusterPermission). Others are left alone, since somebody has replaced them.
 */
async function removeAll(
  { session, mark, known }: GrantParts,
  gone: readonly GrantedObject[],
  author: Author | undefined,
): Promise<{ readonly objects: readonly GrantedObject[]; readonly fault: string | undefined }> {
  const recorded = known()?.writer;
  const writer = recorded === undefined ? undefined : authorFrom(recorded);
  // The removal is tried as the user who made the objects, then as the present author of the grant (TenantBinding or
  // ClusterPermission), and last with the gateway's own credential.
  const actors = [writer, ...(author === undefined || author.key === writer?.key ? [] : [author]), undefined];
  const left: GrantedObject[] = [];
  let fault: string | undefined;
  for (const each of gone) {
    const refused = await removeOne(
      actors.map((actor) => session.objects(actor, mark)),
      each,
      mark,
    );
    if (refused === undefined) continue;
    left.push(each);
    fault ??= refused;
  }
  return { objects: left, fault };
}

/**
 * Removes one object as the first of the users who is allowed to. Returns the reason when none is; undefined when the
 * object is gone.
 */
async function removeOne(
  actors: readonly MemberObjects[],
  granted: GrantedObject,
  mark: Mark,
): Promise<string | undefined> {
  const object = { kind: accessKinds[granted.kind], namespace: granted.namespace ?? '', name: granted.name };
  let refused: string | undefined;
  for (const objects of actors) {
    try {
      const live = await objects.get(object);
      const uid = textAt(live, 'metadata', 'uid');
      if (live !== undefined && isMarked(live, mark.uid) && (granted.uid === '' || granted.uid === uid))
        await objects.remove(object, uid);
      return undefined;
    } catch (error) {
      if (!isForbidden(error) && !(error instanceof GatewayError && error.code === 'IDENTITY_REFUSED')) throw error;
      refused ??= error.message;
    }
  }
  return refused ?? 'nobody may remove it';
}

/** Turns an error from making the objects into phase, reason and message, with advice for the author. */
function refusal(error: Error, author: Author): Pick<GrantOutcome, 'phase' | 'reason' | 'message' | 'afterMs'> {
  const reported = { phase: 'Error', afterMs: refusedMs } as const;
  if (error instanceof GrantFault) return { ...reported, reason: 'Refused', message: error.message };
  if (error instanceof GatewayError) return { ...reported, reason: 'IdentityRefused', message: error.message };
  if (!(error instanceof MemberRefusal)) throw error;
  if (error.status !== 403) return { ...reported, reason: 'RefusedByCluster', message: error.message };
  const isEscalation = error.message.includes('attempting to grant RBAC permissions not currently held');
  const advice = isEscalation
    ? 'give the author these rights in the cluster, or the verb bind on the role'
    : 'give the author this right in the cluster';
  const message = `${author.modifier.name} may not grant this: ${error.message}; ${advice}`;
  return { ...reported, reason: isEscalation ? 'Escalation' : 'Forbidden', message };
}

function nameOf({ kind, namespace, name }: GrantedObject): string {
  return `${kind} ${namespace ?? ''}/${name}`;
}
