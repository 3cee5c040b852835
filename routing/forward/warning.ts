// Makes Warning headers. One of them explains a 403 of a member which means that the gateway's own credential may not
// impersonate in that cluster: the user could not tell this from a missing right of their own. RFC 9111 declares the
// header obsolete, but Kubernetes uses it (KEP-1693), and kubectl prints it even where it drops the message of a
// Status. The text is a quoted string: quotes and backslashes are escaped, control characters replaced.

/**
 * A Warning value such as `299 - "cluster m1: <reason>"`; without the prefix when no cluster is given. Each character
 * code of the result is one byte of the UTF-8 text.
 */
export function warningHeader(clusterName: string | undefined, text: string): string {
  const reason = text.startsWith(`cluster "${clusterName}" `) ? text.slice(`cluster "${clusterName}" `.length) : text;
  const whole = clusterName === undefined ? text : `cluster ${clusterName}: ${reason}`;
  const safe = whole.replace(/[\u0000-\u001f\u007f]+/g, ' ').replace(/["\\]/g, String.raw`\$&`);
  return `299 - "${Buffer.from(safe.slice(0, 1000), 'utf8').toString('latin1')}"`;
}

/**
 * Matches kube-apiserver's message for a refused impersonation: `… is forbidden: User "<gateway>" cannot impersonate
 * resource "<resource>" in API group "<group>"…`. With constrained impersonation (KEP-5284, on by default in 1.36) the
 * message can also have `cannot impersonate:user-info resource …` or `cannot impersonate-on:user-info:list resource …`.
 */
const refusal =
  /cannot (impersonate(?:-on)?(?::[a-z:-]{1,60})?) resource \\?"([^"\\]{1,200})\\?" in API group \\?"([^"\\]{0,200})\\?"/;

/** Returns Warning header values for the body of a 403: one when impersonation was refused, otherwise none. */
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
