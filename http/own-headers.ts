// The headers of answers that the gateway makes itself, in place of a cluster's.

/**
 * The headers that every answer of the gateway itself has, as names and values in turn. Like kube-apiserver's, none is
 * kept by caches (filters/cachecontrol.go of k8s.io/apiserver); and no browser takes one for anything but what it says.
 */
export function ownHeaders(auditId: string, contentType = 'application/json'): string[] {
  const safe = ['Cache-Control', 'no-cache, private', 'X-Content-Type-Options', 'nosniff'];
  return ['Content-Type', contentType, ...safe, 'Audit-Id', auditId];
}
