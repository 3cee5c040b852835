// The Warning header. RFC 9111 declares it obsolete, but Kubernetes uses it (KEP-1693), and kubectl prints it even
// where it drops the message of a Status. The text is a quoted string: quotes and backslashes are escaped, control
// characters replaced.

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
