// Recognises 403 answers of a member that mean that the gateway itself may not impersonate there, which the user cannot
// know. The answer is forwarded unchanged with an added Warning header that names the missing permission.
import { warningHeader } from './warning.ts';

/**
 * The message of kube-apiserver: `… is forbidden: User "<gateway>" cannot impersonate resource "<resource>" in API
 * group "<group>"…`. With constrained impersonation (KEP-5284, on by default in 1.36) it is also `cannot
 * impersonate:user-info resource …` or `cannot impersonate-on:user-info:list resource …`.
 */
const refusal =
  /cannot (impersonate(?:-on)?(?::[a-z:-]{1,60})?) resource \\?"([^"\\]{1,200})\\?" in API group \\?"([^"\\]{0,200})\\?"/;

/** Warning header values for the body of a 403: one when impersonation was refused, otherwise none. */
export function refusedImpersonation(clusterName: string, body: Buffer): string[] {
  const found = refusal.exec(body.toString('latin1'));
  if (found === null) return [];
  const group = found[3] === '' ? '""' : found[3]!;
  return [
    warningHeader(
      clusterName,
      `the gateway's credential may not impersonate: grant it verb "${found[1]!}" on resource "${found[2]!}" in apiGroup ${group} in that cluster`,
    ),
  ];
}
