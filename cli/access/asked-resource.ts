// What a person asks about, as the words of the command line name it: `secrets`, `deployments.apps`, `pods/log` or
// `/healthz`. Roles have the API group of a resource in them, so a resource whose group is not known is refused: asked
// about in the wrong group, nobody seems to have the right.
import { defaultResources } from '../../lib/indexed-resources.ts';
import { usageFailure } from '../terminal/failure.ts';

/** What the parameters `group`, `resource` and `subresource`, or `path`, of the question are. */
export type AskedResource =
  | { readonly path: string }
  | { readonly group: string; readonly resource: string; readonly subresource: string };

/** Resources of the core group that are not among those that are indexed by default, and what can be impersonated. */
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
