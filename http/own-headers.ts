// The headers of answers that the gateway makes itself, in place of a cluster's.

/**
 * The headers of every answer that the gateway makes itself, as a flat list of names and values. As in kube-apiserver,
 * no cache may use the answer again without asking (filters/cachecontrol.go of k8s.io/apiserver), and browsers must not
 * guess another content type.
 */
export function ownHeaders(auditId: string, contentType = 'application/json'): string[] {
  const safe = ['Cache-Control', 'no-cache, private', 'X-Content-Type-Options', 'nosniff'];
  return ['Content-Type', contentType, ...safe, 'Audit-Id', auditId];
}
