// The Warning header of RFC 9111 (obsolete there, alive in Kubernetes: KEP-1693): kubectl prints it even where it loses
// the message of a Status. The text is a quoted string, so quotes and backslashes are escaped and control bytes
// dropped.

/**
 * `299 - "cluster m1: <reason>"`, or without the prefix when the fault is about no cluster. Latin1 bytes of the UTF-8
 * text.
 */
export function warningHeader(clusterName: string | undefined, text: string): string {
  const reason = text.startsWith(`cluster "${clusterName}" `) ? text.slice(`cluster "${clusterName}" `.length) : text;
  const whole = clusterName === undefined ? text : `cluster ${clusterName}: ${reason}`;
  const safe = whole.replace(/[\u0000-\u001f\u007f]+/g, ' ').replace(/["\\]/g, String.raw`\$&`);
  return `299 - "${Buffer.from(safe.slice(0, 1000), 'utf8').toString('latin1')}"`;
}
