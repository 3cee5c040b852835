// Reads the resource or path that a command line asks about: `secrets`, `deployments.apps`, `pods/log` or `/healthz`.
// RBAC rules name the API group of a resource, so a resource whose group is not known is refused: with the wrong group,
// the answer would be that nobody has the right.
import { defaultResources } from '../../lib/indexed-resources.ts';
import { usageFailure } from '../terminal/failure.ts';

/** The parameters of the request to the gateway: `group`, `resource` and `subresource`, or `path`. */
export type AskedResource =
  | { readonly path: string }
  | { readonly group: string; readonly resource: string; readonly subresource: string };

/**
 * Resources of the core group that are not indexed by default, and `users` and `groups`, which RBAC names for
 * impersonation.
 */
const otherCore = ['secrets', 'endpoints', 'events', 'podtemplates', 'bindings', 'users', 'groups'];

/** @throws Failure for a resource that needs its group */
export function readResource(text: string): AskedResource {
  if (text.startsWith('/')) return { path: text };
  const slash = text.indexOf('/');
  const type = slash < 0 ? text : text.slice(0, slash);
  const subresource = slash < 0 ? '' : text.slice(slash + 1);
  const dot = type.indexOf('.');
  if (dot >= 0) return { resource: type.slice(0, dot), group: type.slice(dot + 1), subresource };
  if (otherCore.includes(type) || defaultResources.includes(type)) return { resource: type, group: '', subresource };
  const known = defaultResources.find((each) => each.startsWith(`${type}.`));
  if (known !== undefined) return { resource: type, group: known.slice(type.length + 1), subresource };
  throw usageFailure(
    `the API group of ${JSON.stringify(type)} is not known`,
    'Give the plural and the group as kubectl api-resources has them, such as certificates.cert-manager.io.',
  );
}
