// Looks after a member that has joined: replaces the token in time, notices that the member is another one, and follows
// its certificate authority.
import type { Access } from '../../cache/sources/objects/registration.ts';
import type { HubObject } from '../../cache/hub/hub-types.ts';
import { accessIn, replaceKeys, withToken } from '../hub/cluster-secret.ts';
import { clusterUidOf, withMember, type ReachedMember } from '../member/member-session.ts';
import { requestToken, tokenFault } from '../member/token.ts';
import { joinSpecOf } from '../object/cluster-join.ts';
import { inStep, StepFault, type JoinParts } from './join-parts.ts';
import type { JoinStatus } from './join-status.ts';

/**
 * @param secret the Secret of the join, by which the gateway reaches the member
 * @param authority PEM text of the member's own certificate authority; undefined while it is not known
 * @throws StepFault with the step that fails now
 */
export async function keepPass(
  parts: JoinParts,
  join: HubObject,
  status: JoinStatus,
  secret: HubObject,
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
      status.find('Reached', 'True', 'Reached', `the cluster answers; the UID of its Namespace kube-system is ${uid}`);
      await rotate(parts, join, status, secret, trusting, member);
    });
  });
}

/** Replaces the token if its time has come. The old one stays until the new one has answered. */
async function rotate(
  { rule, writer, timeScale }: JoinParts,
  join: HubObject,
  status: JoinStatus,
  secret: HubObject,
  access: Access,
  member: ReachedMember,
): Promise<void> {
  const { credential } = status.memory;
  if (credential !== undefined && Date.parse(credential.rotateAt) > Date.now()) return;
  const { memberNamespace, tokenSeconds } = joinSpecOf(join);
  const issued = await inStep('CredentialIssued', () =>
    requestToken(member.own, memberNamespace, tokenSeconds, timeScale),
  );
  status.find('CredentialIssued', 'True', 'Issued', 'the cluster issued a token for the ServiceAccount of the gateway');
  await inStep('Verified', async () => {
    const fault = await withMember(join, withToken(access, issued.token), rule, (itself) =>
      tokenFault(itself, memberNamespace),
    );
    if (fault !== undefined) throw new StepFault('Verified', 'TokenRefused', fault);
    await replaceKeys(writer, secret, { token: issued.token });
  });
  status.find('Verified', 'True', 'Verified', 'the token answers as itself and may impersonate');
  status.set({ credential: issued.times });
}

/**
 * Tells a changed certificate authority in the status. If the member can be verified by it, it replaces the one in the
 * Secret; in front of some clusters is a load balancer with a certificate of its own, and then it cannot. Returns how
 * the member is reached from now on.
 */
async function followAuthority(
  { rule, writer }: JoinParts,
  join: HubObject,
  status: JoinStatus,
  secret: HubObject,
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
