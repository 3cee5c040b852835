// Lets a member join: with the bootstrap credential it makes the objects in the member and requests the first token.
// Each step has a condition of its own in the ClusterJoin's status.
import type { Access } from '../../cache/sources/objects/registration.ts';
import type { ApiObject } from '../../kube/types.ts';
import { objectPath } from '../../kube/paths.ts';
import { check } from '../../kube/objects/object-writer.ts';
import type { RestMapper } from '../../kube/discovery/rest-mapper.ts';
import { memberMapper } from '../../distribute/member/discovery.ts';
import type { MemberObjects } from '../../distribute/member/member-objects.ts';
import { jsonIn } from '../../lib/json/exact-json.ts';
import type { JsonObject } from '../../lib/objects/json-object.ts';
import { deleteBootstrap, readBootstrap, type Bootstrap } from '../hub/bootstrap.ts';
import { addressOf, readSecret, storeSecret, withToken } from '../hub/cluster-secret.ts';
import { accessObjects } from '../member/access-objects.ts';
import { applyBundle, manifestsIn, servedNames } from '../member/bundle.ts';
import { foreignObjects, install, ownsNamespace } from '../member/install.ts';
import { clusterUidOf, withMember, type ReachedMember } from '../member/member-session.ts';
import { missingRights } from '../member/rights.ts';
import { requestToken, tokenFault } from '../member/token.ts';
import { installHash, isMadeFor, joinSpecOf, markOf, type JoinSpec } from '../object/cluster-join.ts';
import type { Claims } from './claims.ts';
import { inStep, objectsFor, StepFault, type JoinParts } from './join-parts.ts';
import type { JoinStatus } from './join-status.ts';
import { removeUnwanted } from './remove-made.ts';

/** One attempt to let the member of a ClusterJoin join. */
interface Installation {
  readonly parts: JoinParts;
  readonly join: ApiObject;
  readonly spec: JoinSpec;
  readonly status: JoinStatus;
  readonly claims: Claims;
}

/** What the attempt makes in the member: the `access` objects, and the manifests of the `bundle`. */
interface Wanted {
  readonly objects: MemberObjects;
  readonly access: readonly JsonObject[];
  readonly bundle: readonly JsonObject[];
  readonly kinds: RestMapper;
}

/**
 * Lets the member join, or brings its objects up to date with a changed spec. A repeated call changes nothing, but
 * issues a new token.
 * @throws StepFault with the step that cannot be done; HubRefusal 409 when the ClusterJoin has changed meanwhile
 */
export async function installMember(
  parts: JoinParts,
  join: ApiObject,
  status: JoinStatus,
  claims: Claims,
): Promise<void> {
  const spec = joinSpecOf(join);
  const look = { parts, join, spec, status, claims };
  const bootstrap = await bootstrapOf(look);
  await inStep('Reached', () =>
    withMember(join, bootstrap.access, parts.rule, async (member) => {
      await reach(look, member, bootstrap.access);
      const wanted = await inStep('RightsSufficient', () => wantedIn(look, member));
      await checkRights(look, wanted);
      await inStep('Installed', () => checkNames(look, wanted));
      await inStep('Installed', () => installAll(look, wanted));
      await issueToken(look, member, bootstrap.access);
    }),
  );
  // The bootstrap Secret is deleted only after the status that has the new token's times is written.
  await status.save(parts.writer);
  if (spec.deleteBootstrapSecret) await deleteBootstrap(parts.writer, bootstrap);
}

async function bootstrapOf({ parts, spec }: Installation): Promise<Bootstrap> {
  const found = await inStep('Reached', () => readBootstrap(parts.client, spec.bootstrap));
  if (found !== undefined) return found;
  const { namespace, name } = spec.bootstrap;
  throw new StepFault(
    'Reached',
    'BootstrapMissing',
    `the Secret ${namespace}/${name} is missing; create it with a kubeconfig of the cluster`,
  );
}

async function reach({ join, spec, status, claims }: Installation, member: ReachedMember, access: Access) {
  const uid = await clusterUidOf(member);
  const known = status.memory.clusterUID;
  if (known !== '' && known !== uid)
    throw new StepFault(
      'Reached',
      'OtherCluster',
      `the bootstrap kubeconfig leads to another cluster (${uid}) than the one that joined (${known}); delete the ClusterJoin first`,
    );
  const first = spec.allowAlias ? undefined : claims.claim(join, uid);
  if (first !== undefined)
    throw new StepFault(
      'Reached',
      'AlreadyJoined',
      `this cluster has joined already, by the ClusterJoin "${first}"; delete one of the two, or set allowAlias`,
    );
  status.set({ clusterUID: uid, server: addressOf(access) });
  status.setCondition(
    'Reached',
    'True',
    'Reached',
    `the cluster answers; the UID of its Namespace kube-system is ${uid}`,
  );
}

async function wantedIn({ parts, join, spec }: Installation, member: ReachedMember): Promise<Wanted> {
  const objects = objectsFor(parts, join, member.own);
  const isOwn = await ownsNamespace(objects, spec.memberNamespace, join.metadata.uid);
  return {
    objects,
    access: accessObjects({ ...spec, ...markOf(join), ownsNamespace: isOwn }),
    bundle: await readBundle(parts, spec),
    kinds: memberMapper(member.own),
  };
}

async function readBundle({ client }: JoinParts, { bundle }: JoinSpec): Promise<readonly JsonObject[]> {
  if (bundle === undefined) return [];
  const { namespace, name } = bundle;
  const configMaps = { group: '', version: 'v1', resource: 'configmaps' };
  const path = objectPath({ ...configMaps, namespace }, name);
  const answer = await client.request({ method: 'GET', path, timeoutMs: 15_000 });
  if (answer.status === 404)
    throw new StepFault('RightsSufficient', 'BundleMissing', `the ConfigMap ${namespace}/${name} is missing`);
  check(answer, 'get', configMaps);
  return manifestsIn(jsonIn(answer.body));
}

async function checkRights({ spec, status }: Installation, { objects, access, bundle, kinds }: Wanted): Promise<void> {
  const missing = await inStep('RightsSufficient', async () =>
    missingRights(objects, access, spec.memberNamespace, await servedNames(kinds, bundle)),
  );
  if (missing.length > 0)
    throw new StepFault(
      'RightsSufficient',
      'RightsMissing',
      `the bootstrap credential may not ${missing.join(', ')}; nothing was changed in the cluster`,
    );
  status.setCondition(
    'RightsSufficient',
    'True',
    'Sufficient',
    'the bootstrap credential may do everything that is needed',
  );
}

async function checkNames({ parts, join, spec }: Installation, { objects, access }: Wanted): Promise<void> {
  const { secretNamespace, client } = parts;
  const secret = await readSecret(client, secretNamespace, join.metadata.name);
  if (secret !== undefined && !isMadeFor(secret, join))
    throw new StepFault(
      'Installed',
      'NameTaken',
      `a cluster of this name is registered already, by the Secret ${secretNamespace}/${join.metadata.name}`,
    );
  const foreign = spec.adopt ? [] : await foreignObjects(objects, access, join.metadata.uid);
  if (foreign.length > 0)
    throw new StepFault(
      'Installed',
      'ForeignObjects',
      `${foreign.join(', ')} exist in the cluster and are not of this ClusterJoin; remove them, or set adopt or another memberNamespace`,
    );
}

async function installAll(look: Installation, { objects, access, bundle, kinds }: Wanted): Promise<void> {
  const { parts, spec, status } = look;
  try {
    await install(objects, access, (object) => status.recordInstalled(object));
    await applyBundle(objects, kinds, bundle);
  } finally {
    // The status must list what exists in the member even if a later step fails, so that it can be removed.
    await status.save(parts.writer);
  }
  await removeUnwanted(objects, look.join, status, access);
  status.set({ installedHash: installHash(spec) });
  const count = `${access.length} objects`;
  status.setCondition('Installed', 'True', 'Installed', `the cluster has the ${count} by which the gateway has access`);
}

async function issueToken({ parts, join, spec, status }: Installation, member: ReachedMember, access: Access) {
  const { rule, timeScale, secretNamespace, client, writer } = parts;
  const issued = await inStep('CredentialIssued', () =>
    requestToken(member.own, spec.memberNamespace, spec.tokenSeconds, timeScale),
  );
  status.setCondition(
    'CredentialIssued',
    'True',
    'Issued',
    'the cluster issued a token for the ServiceAccount of the gateway',
  );
  await inStep('Verified', async () => {
    const own = withToken(access, issued.token);
    const fault = await withMember(join, own, rule, (itself) => tokenFault(itself, spec.memberNamespace));
    if (fault !== undefined) throw new StepFault('Verified', 'TokenRefused', fault);
    await storeSecret(client, writer, join, secretNamespace, own, issued.token);
  });
  status.setCondition('Verified', 'True', 'Verified', 'the token answers as itself and may impersonate');
  status.set({ credential: issued.times });
}
