// Asks a member what the gateway's own credential may impersonate there, so that the cluster's condition can name a missing rule before a
// user runs into it. Easy to get wrong: these reviews go out as the gateway itself; everything else impersonates.
import type { Condition } from '../cache/records.ts';
import type { Target } from '../routing/target.ts';
import { ask } from './probe-request.ts';

/** Rights that every user needs, then those that only ServiceAccounts, users with a uid or with extra (client certificates) need. */
const impersonationRights = [
  { group: '', resource: 'users', always: true },
  { group: '', resource: 'groups', always: true },
  { group: '', resource: 'serviceaccounts', always: false },
  { group: 'authentication.k8s.io', resource: 'uids', always: false },
  { group: 'authentication.k8s.io', resource: 'userextras', always: false },
];
const path = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';

/** A condition without its transition time, which the probe adds. */
export type Finding = Omit<Condition, 'lastTransitionTime'>;

/**
 * The condition `ImpersonationAllowed`.
 * @throws GatewayError (rejects) when the member does not answer; SyntaxError when its answer is no JSON
 */
export async function impersonationFinding(target: Target, timeoutMs: number): Promise<Finding> {
  const missing: typeof impersonationRights = [];
  for (const right of impersonationRights) {
    const { group, resource } = right;
    const review = {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SelfSubjectAccessReview',
      spec: { resourceAttributes: { verb: 'impersonate', group, resource } },
    };
    const answer = await ask(target, 'self', path, timeoutMs, review);
    if (answer.status !== 201) {
      const message = `SelfSubjectAccessReview answered ${answer.status}`;
      return { type: 'ImpersonationAllowed', status: 'Unknown', reason: 'ReviewFailed', message };
    }
    const { status } = JSON.parse(answer.body.toString('utf8')) as { status?: { allowed?: boolean } };
    if (status?.allowed !== true) missing.push(right);
  }
  return judge(missing);
}

function judge(missing: typeof impersonationRights): Finding {
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
