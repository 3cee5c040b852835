// Makes the request URI of an audit event: the bytes that the client sent, with the values of unknown query parameters
// redacted. Security: `known` below lists the parameters that never hold a secret. A list of the parameters that do
// hold secrets would never be complete.

/**
 * Query parameters that are shown in audit events: those of the Kubernetes API (meta/v1 ListOptions, CreateOptions,
 * PatchOptions, DeleteOptions; core/v1 PodExecOptions, PodAttachOptions, PodLogOptions, PodPortForwardOptions;
 * apiserver's health, discovery and Table parameters) and those of the gateway's own API.
 */
const known: ReadonlySet<string> = new Set([
  ...['labelSelector', 'fieldSelector', 'limit', 'continue', 'watch', 'allowWatchBookmarks', 'sendInitialEvents'],
  ...[
    'resourceVersion',
    'resourceVersionMatch',
    'timeoutSeconds',
    'timeout',
    'pretty',
    'includeObject',
    'shardSelector',
  ],
  ...['dryRun', 'fieldManager', 'fieldValidation', 'force', 'export', 'exact'],
  ...[
    'gracePeriodSeconds',
    'propagationPolicy',
    'orphanDependents',
    'ignoreStoreReadErrorWithClusterBreakingPotential',
  ],
  ...['command', 'container', 'stdin', 'stdout', 'stderr', 'tty', 'ports', 'follow', 'previous', 'sinceSeconds'],
  ...['sinceTime', 'timestamps', 'tailLines', 'limitBytes', 'insecureSkipTLSVerifyBackend', 'stream'],
  ...['verbose', 'exclude', 'hash'],
]);
/**
 * Names of query parameters are shown only in this form. A name in any other form is redacted: it could be a secret
 * value.
 */
const name = /^[A-Za-z][A-Za-z0-9_.~-]{0,63}$/;
const redacted = 'REDACTED';

/**
 * The path and query with the values of unknown query parameters replaced by `REDACTED`; an unknown parameter without a
 * value is replaced completely. A target without unknown parameters is returned unchanged.
 * @param target path and query, after request/path.ts has checked it
 */
export function auditedUri(target: string): string {
  const mark = target.indexOf('?');
  if (mark < 0 || mark === target.length - 1) return target;
  const query = target.slice(mark + 1);
  const pairs = query.split('&');
  let changed = false;
  for (let i = 0; i < pairs.length; i++) {
    const pair = pairs[i]!;
    const equals = pair.indexOf('=');
    const key = equals < 0 ? pair : pair.slice(0, equals);
    if (pair === '' || (known.has(key) && !pair.includes(';'))) continue;
    pairs[i] = equals >= 0 && name.test(key) ? `${key}=${redacted}` : redacted;
    changed = true;
  }
  return changed ? `${target.slice(0, mark + 1)}${pairs.join('&')}` : target;
}
