// Asks each cluster what the gateway's credential may do in the cluster, with the same requests that a running gateway
// sends. A cluster that does not answer is returned in `unread`.
import { GatewayError } from '../../model/errors.ts';
import type { ClusterRecord } from '../../model/records.ts';
import { locate } from '../../routing/members/target.ts';
import type { Connections } from '../../routing/members/target.ts';
import { ask } from '../probe/probe-request.ts';
import { impersonationFinding } from '../probe/probe-rights.ts';
import { scopeFinding } from '../probe/probe-scope.ts';
import { credentialKindWeaknesses, credentialWeaknesses, reachWeaknesses } from './clusters.ts';
import type { CheckResult, Unread, Weakness } from './weakness.ts';

const timeoutMs = 10_000;
const rulesPath = '/apis/authorization.k8s.io/v1/selfsubjectrulesreviews';

/** Finds weaknesses of a cluster without sending a request to it. */
export function memberWeaknesses({ spec }: ClusterRecord, nowMs: number): CheckResult {
  const where = placeOf(spec);
  if (spec.problem !== undefined)
    return { weaknesses: [], unread: [{ where, what: `${spec.problem.reason}: ${spec.problem.message}` }] };
  const weaknesses = [
    ...reachWeaknesses(spec, where, nowMs),
    ...credentialKindWeaknesses(spec.credential?.kind, where),
  ];
  // An exec credential exists only after its plugin has run, and only {@link askMember} runs plugins. Credentials of
  // all other kinds can be read here.
  if (spec.credential === undefined || spec.credential.kind === 'exec') return { weaknesses, unread: [] };
  try {
    const credential = spec.credential.current();
    if (!(credential instanceof Promise))
      weaknesses.push(...credentialWeaknesses(spec.credential.kind, credential, where, nowMs));
    return { weaknesses, unread: [] };
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return { weaknesses, unread: [{ where, what: error.message }] };
  }
}

/** Asks the cluster what the gateway's credential may do there. For an exec credential, this runs the exec plugin. */
export async function askMember(record: ClusterRecord, connections: Connections): Promise<CheckResult> {
  const { spec } = record;
  const where = placeOf(spec);
  if (spec.problem !== undefined) return { weaknesses: [], unread: [] };
  const weaknesses: Weakness[] = [];
  const unread = (what: string): CheckResult => ({ weaknesses, unread: [{ where, what }] satisfies readonly Unread[] });
  try {
    const target = await locate(spec.name, () => record, connections);
    const ready = await ask(target, 'impersonate', '/readyz', timeoutMs);
    const body = {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SelfSubjectRulesReview',
      spec: { namespace: 'default' },
    };
    const reviewed = await ask(target, 'self', rulesPath, timeoutMs, body);
    if (reviewed.status === 401) return unread("the cluster refuses the gateway's credential (401)");
    if (reviewed.status !== 201) return unread(`the cluster does not tell the gateway its rights (${reviewed.status})`);
    const broader = await scopeFinding(target, timeoutMs);
    if (broader !== undefined) {
      weaknesses.push({
        name: 'OverprivilegedCredential',
        severity: 'high',
        where,
        what: broader.message.replace(/\. What it needs.*$/, ''),
        fix: 'Make a ServiceAccount that may only impersonate, by the output of: portcullis generate member-access',
      });
    }
    const impersonation = await impersonationFinding(target, timeoutMs, ready.status);
    if (impersonation.status === 'Unknown') return unread(impersonation.message);
    if (impersonation.status === 'False') {
      weaknesses.push({
        name: 'CannotImpersonate',
        severity: 'low',
        where,
        what: 'nobody can use the cluster: the gateway may not impersonate there',
        fix: `${impersonation.message}, by the output of: portcullis generate member-access`,
      });
    }
    return { weaknesses, unread: [] };
  } catch (error) {
    if (!(error instanceof GatewayError || error instanceof SyntaxError)) throw error;
    return unread(
      error instanceof GatewayError ? error.message : 'the cluster answered with something other than JSON',
    );
  }
}

function placeOf({ name, sourceDetail }: ClusterRecord['spec']): string {
  return `cluster "${name}" (${sourceDetail})`;
}
