// Asks a cluster what the gateway's own credential may impersonate, so that a condition names a missing RBAC rule
// before a user is refused. The reviews in this file are sent as the gateway itself; other requests of the probe
// impersonate a user. Easy to get wrong: a cluster before Kubernetes 1.36 allows the verbs of constrained impersonation
// in a review, although it does not support constrained impersonation.
import type { Condition } from '../../model/records.ts';
import type { Target } from '../../routing/members/target.ts';
import { ask } from './probe-request.ts';

const authentication = 'authentication.k8s.io';
interface Right {
  readonly group: string;
  readonly resource: string;
  readonly subresource?: string;
  readonly always: boolean;
}

/**
 * Impersonation rights that the gateway's credential needs. Those with `always` are needed for every user; the others
 * only for ServiceAccounts and for users with a uid or extra, such as users with a client certificate.
 */
const impersonationRights: readonly Right[] = [
  { group: '', resource: 'users', always: true },
  { group: '', resource: 'groups', always: true },
  { group: '', resource: 'serviceaccounts', always: false },
  { group: authentication, resource: 'uids', always: false },
  // RBAC can grant `userextras` only for single keys. The review asks about the key that users with client certificates
  // and ServiceAccount tokens have.
  {
    group: authentication,
    resource: 'userextras',
    subresource: 'authentication.kubernetes.io/credential-id',
    always: false,
  },
];

/**
 * The rights for constrained impersonation (KEP-5284, on by default from Kubernetes 1.36). Unlike in classic
 * impersonation, `users` and `groups` are in the API group authentication.k8s.io.
 */
const constrainedRights = [
  { verb: 'impersonate:user-info', group: authentication, resource: 'users' },
  { verb: 'impersonate:user-info', group: authentication, resource: 'groups' },
];
const path = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';

/** A condition without lastTransitionTime, which the probe adds later. */
export type Finding = Omit<Condition, 'lastTransitionTime'>;

/** Thrown when a review was answered with a status other than 201. */
class ReviewFailed extends Error {}

/**
 * Finds the condition `ImpersonationAllowed` of a cluster.
 * @param readyStatus status of the answer to the probe's request for `/readyz`, which was sent with impersonation; 403
 * means that impersonation does not work, whatever the reviews say
 * @throws GatewayError (rejects) when the cluster does not answer; SyntaxError when its answer is not JSON
 */
export async function impersonationFinding(target: Target, timeoutMs: number, readyStatus: number): Promise<Finding> {
  try {
    const missing: Right[] = [];
    for (const right of impersonationRights) {
      if (!(await isAllowed(target, timeoutMs, { verb: 'impersonate', ...right }))) missing.push(right);
    }
    if (missing.some(({ always }) => always) && readyStatus !== 403) {
      const asked = await Promise.all(constrainedRights.map((right) => isAllowed(target, timeoutMs, right)));
      if (asked.every((allowed) => allowed)) return constrained;
      if (asked[0] === true) return usernameOnly;
    }
    return findingOf(missing);
  } catch (error) {
    if (!(error instanceof ReviewFailed)) throw error;
    return { type: 'ImpersonationAllowed', status: 'Unknown', reason: 'ReviewFailed', message: error.message };
  }
}

async function isAllowed(
  target: Target,
  timeoutMs: number,
  right: { readonly verb: string; readonly group: string; readonly resource: string; readonly subresource?: string },
): Promise<boolean> {
  const { verb, group, resource, subresource = '' } = right;
  const answer = await ask(target, 'self', path, timeoutMs, {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SelfSubjectAccessReview',
    spec: { resourceAttributes: { verb, group, resource, subresource } },
  });
  if (answer.status !== 201) throw new ReviewFailed(`SelfSubjectAccessReview answered ${answer.status}`);
  const { status } = JSON.parse(answer.body.toString('utf8')) as { status?: { allowed?: boolean } };
  return status?.allowed === true;
}

const constrained: Finding = {
  type: 'ImpersonationAllowed',
  status: 'True',
  reason: 'Constrained',
  message:
    'the gateway may impersonate users and groups for the requests that the cluster grants it (impersonate-on rules)',
};

const usernameOnly: Finding = {
  type: 'ImpersonationAllowed',
  status: 'True',
  reason: 'ConstrainedToUsernames',
  message: 'the gateway may impersonate users but no groups: run it with --impersonation-mode=username',
};

function findingOf(missing: readonly Right[]): Finding {
  const type = 'ImpersonationAllowed';
  if (missing.length === 0)
    return { type, status: 'True', reason: 'Granted', message: 'the gateway may impersonate every user' };
  const names = missing.map(({ group, resource }) => (group === '' ? resource : `${resource}.${group}`)).join(', ');
  const grant = `grant the gateway's credential verb "impersonate" on ${names} in this cluster`;
  if (missing.some(({ always }) => always))
    return { type, status: 'False', reason: 'MissingImpersonationRule', message: grant };
  return {
    type,
    status: 'True',
    reason: 'GrantedInPart',
    message: `users who need more are refused by the cluster: ${grant}`,
  };
}
