// Maintains a member that has joined: replaces the token before it expires, notices when another cluster answers at the
// address, and takes over a changed certificate authority.
import type { Access } from '../../cache/sources/objects/registration.ts';
import type { ApiObject } from '../../kube/types.ts';
import { accessIn, replaceKeys, withToken } from '../hub/cluster-secret.ts';
import { clusterUidOf, withMember, type ReachedMember } from '../member/member-session.ts';
import { requestToken, tokenFault } from '../member/token.ts';
import { joinSpecOf } from '../object/cluster-join.ts';
import { inStep, StepFault, type JoinParts } from './join-parts.ts';
import type { JoinStatus } from './join-status.ts';

/**
 * Checks the member once, and replaces its token if it is time to.
 * @param secret the Secret of the ClusterJoin, by which the gateway reaches the member
 * @param authority the member's own certificate authority as PEM text; undefined while unknown
 * @throws StepFault with the step that fails now
 */
export async function keepMember(
  parts: JoinParts,
  join: ApiObject,
  status: JoinStatus,
  secret: ApiObject,
  authority: string | undefined,
): Promise<void> {
  await inStep('Reached', async () => {
    const access = accessIn(secret);
    const trusting =
      authority === undefined ? access : await followAuthority(parts, join, status, secret, access, authority);
    await withMember(join, trusting, parts.rule, async (member) => {
      const uid = await clusterUidOf(member);
      if (uid !== status.memory.clusterUID)
        throw new StepFault(
          'Reached',
          'OtherCluster',
          `another cluster (${uid}) answers at this address than the one that joined (${status.memory.clusterUID})`,
        );
      status.setCondition(
        'Reached',
        'True',
        'Reached',
        `the cluster answers; the UID of its Namespace kube-system is ${uid}`,
      );
      await rotate(parts, join, status, secret, trusting, member);
    });
  });
}

/** Replaces the token if its time has come. The old token stays in the Secret until the new one was verified. */
async function rotate(
  { rule, writer, timeScale }: JoinParts,
  join: ApiObject,
  status: JoinStatus,
  secret: ApiObject,
  access: Access,
  member: ReachedMember,
): Promise<void> {
  const { credential } = status.memory;
  if (credential !== undefined && Date.parse(credential.rotateAt) > Date.now()) return;
  const { memberNamespace, tokenSeconds } = joinSpecOf(join);
  const issued = await inStep('CredentialIssued', () =>
    requestToken(member.own, memberNamespace, tokenSeconds, timeScale),
  );
  status.setCondition(
    'CredentialIssued',
    'True',
    'Issued',
    'the cluster issued a token for the ServiceAccount of the gateway',
  );
  await inStep('Verified', async () => {
    const fault = await withMember(join, withToken(access, issued.token), rule, (itself) =>
      tokenFault(itself, memberNamespace),
    );
    if (fault !== undefined) throw new StepFault('Verified', 'TokenRefused', fault);
    await replaceKeys(writer, secret, { token: issued.token });
  });
  status.setCondition('Verified', 'True', 'Verified', 'the token answers as itself and may impersonate');
  status.set({ credential: issued.times });
}

/**
 * Writes a changed certificate authority into the status. If the member can be verified with it, it also replaces the
 * authority in the Secret. (A cluster behind a load balancer may have a certificate of another authority, and then the
 * Secret stays unchanged.) Returns the access by which the member is reached from now on.
 */
async function followAuthority(
  { rule, writer }: JoinParts,
  join: ApiObject,
  status: JoinStatus,
  secret: ApiObject,
  access: Access,
  authority: string,
): Promise<Access> {
  const caBundle = Buffer.from(authority).toString('base64');
  const before = status.memory.caBundle;
  if (before === caBundle) return access;
  status.set({ caBundle });
  if (before === '' || access.tls.insecure || access.tls.ca === undefined) return access;
  const next = { ...access, tls: { ...access.tls, ca: authority } };
  try {
    await withMember(join, next, rule, clusterUidOf);
  } catch {
    return access;
  }
  await replaceKeys(writer, secret, { 'ca.crt': authority });
  return next;
}
