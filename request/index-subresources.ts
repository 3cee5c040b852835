// Forwards subresources below Clusterpedia's path of one cluster
// (`…/resources/clusters/<name>/api/v1/…/pods/<pod>/log`). The index has no copy of subresources, so these requests go
// to the cluster as the caller. The operator lists the allowed subresources in a flag that Clusterpedia has too. The
// caller needs the right to `clusters/<name>/proxy`; the right to read the index is not enough.
import { GatewayError } from '../model/errors.ts';
import type { RequestInfo } from './request-info.ts';

/** Allowed subresources, by plural name of a resource in the core group, for example `pods` → `log`, `exec`. */
export type AllowedSubresources = ReadonlyMap<string, ReadonlySet<string>>;

/** The subresources that Clusterpedia can forward (its source file pkg/kubeapiserver/options.go). */
const supported: Readonly<Record<string, readonly string[]>> = {
  pods: ['proxy', 'log', 'exec', 'attach', 'portforward'],
  nodes: ['proxy'],
  services: ['proxy'],
};

/**
 * Whether a path names a subresource that the gateway is able to forward to a cluster. {@link requireAllowed} checks
 * whether the operator allows it.
 */
export function isForwardable({ isResource, apiGroup, resource, subresource, name }: RequestInfo): boolean {
  return isResource && apiGroup === '' && name !== '' && (supported[resource]?.includes(subresource) ?? false);
}

/**
 * Reads a list such as `pods/log,exec`. A subresource without a resource is allowed on every resource that has it. The
 * misspelling `portfowrd` is accepted, because Clusterpedia's flag has it.
 * @throws Error that quotes the element it cannot read
 */
export function parseAllowedSubresources(list: string): AllowedSubresources {
  const allowed = new Map<string, Set<string>>();
  for (const token of list.split(',').map((text) => text.trim())) {
    const parts = token.split('/');
    const wanted = parts.at(-1) === 'portfowrd' ? 'portforward' : parts.at(-1)!;
    const found = Object.entries(supported).filter(
      ([resource, subresources]) =>
        (parts.length === 1 || resource === parts[0]) && parts.length <= 2 && subresources.includes(wanted),
    );
    if (found.length === 0) {
      const known = Object.entries(supported).flatMap(([resource, names]) =>
        names.map((name) => `${resource}/${name}`),
      );
      throw new Error(`"${token}" is no subresource that can be forwarded: ${known.join(', ')}`);
    }
    for (const [resource] of found) allowed.set(resource, (allowed.get(resource) ?? new Set()).add(wanted));
  }
  return allowed;
}

/**
 * Throws unless the operator allows the subresource to be forwarded.
 * @throws GatewayError METHOD_NOT_ALLOWED
 */
export function requireAllowed(info: RequestInfo, cluster: string, allowed: AllowedSubresources | undefined): void {
  if (allowed?.get(info.resource)?.has(info.subresource) === true) return;
  throw new GatewayError(
    'METHOD_NOT_ALLOWED',
    `the index has copies of objects, without their subresources; ask the cluster itself below /clusters/${cluster}/proxy, or have ` +
      `${info.resource}/${info.subresource} forwarded with --allowed-proxy-subresources`,
  );
}
