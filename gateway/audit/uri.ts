// Makes the request target of an audit event: the bytes the client sent, with the values of unknown query parameters
// redacted. The list here names the parameters that are known to hold no secret, because a list of secret ones would
// never be complete.

/**
 * Parameters of the Kubernetes API (meta/v1 ListOptions, CreateOptions, PatchOptions, DeleteOptions; core/v1
 * PodExecOptions, PodAttachOptions, PodLogOptions, PodPortForwardOptions; apiserver's health, discovery and Table
 * parameters) and of our own surfaces.
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
/** The form of a parameter's name; other text may be a value without a name. */
const name = /^[A-Za-z][A-Za-z0-9_.~-]{0,63}$/;
const redacted = 'REDACTED';

/**
 * @param target origin form, checked by the one path parser
 * @returns the same text when every parameter is known; otherwise `REDACTED` stands for the values of the others, or
 *   for the whole parameter when it has no value
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
