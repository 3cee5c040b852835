// Reads a member's 403 for the one cause a user cannot see: that the gateway itself may not impersonate there. The
// member's answer is relayed as it is, with a Warning that names the missing rule.
import { warningHeader } from './warning.ts';

/**
 * kube-apiserver: `… is forbidden: User "<gateway>" cannot impersonate resource "<resource>" in API group "<group>"…`,
 * and with constrained impersonation (KEP-5284, on by default in 1.36) also `cannot impersonate:user-info resource …`,
 * `cannot impersonate-on:user-info:list resource …`.
 */
const refusal =
  /cannot (impersonate(?:-on)?(?::[a-z:-]{1,60})?) resource \\?"([^"\\]{1,200})\\?" in API group \\?"([^"\\]{0,200})\\?"/;

/** Warnings for a 403 body: one when it says that impersonation was refused, else none. */
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
