// URLs of the gateway: finds the gateway's root from any address in a kubeconfig, and makes addresses of clusters below
// the root. The root may have a path of its own (a gateway behind another proxy), so only the gateway's known suffixes
// `…/<name>/proxy` are removed.
import { usageFailure } from '../terminal/failure.ts';

/** Path of the list of clusters, below the gateway's root. */
export const clustersPath = '/apis/gateway.portcullis.io/v1alpha1/clusters';

// Matches the end of a cluster's address: `/clusters/<name>/proxy`, or the longer form below `/apis/<group>/<version>`.
const clusterSuffix = /(?:\/apis\/[^/]+\/[^/]+\/(?:clusters|clustergateways)|\/clusters)\/[^/]+\/proxy$/;
/**
 * Path of the index, below which the native paths of Kubernetes follow. A hub's kube-apiserver treats a path with
 * `proxy` as long-running and therefore does not end watches below this path.
 */
const indexPath = '/apis/search.portcullis.io/v1alpha1/indexes/default/proxy';

/**
 * Checks the value of `--server` or a kubeconfig's `server`, and returns the URL of the gateway's root without a
 * trailing slash.
 * @param what where the value comes from, for messages
 * @throws Failure (usage) when it is not an https URL, or has a user, a query or a fragment
 */
export function gatewayRoot(server: string, what: string): string {
  const whole = serverRoot(server, what);
  if (whole.endsWith(indexPath)) return whole.slice(0, -indexPath.length).replace(/\/+$/, '');
  return whole.replace(clusterSuffix, '').replace(/\/+$/, '');
}

/**
 * Checks a URL as {@link gatewayRoot} does, but keeps the whole path, for commands that send requests to the server of
 * a kubeconfig itself.
 * @throws Failure (usage) in the same cases as {@link gatewayRoot}
 */
export function serverRoot(server: string, what: string): string {
  let url: URL;
  try {
    url = new URL(server);
  } catch {
    // Security: the value is not put into the message, because it may contain a password even if it is not a URL.
    throw usageFailure(`${what} is not a URL`, 'Give the address of the gateway, as in https://127.0.0.1:8443');
  }
  if (url.username !== '' || url.password !== '') {
    throw usageFailure(`${what} holds a user name or password`, 'Remove it; use a token or a client certificate.');
  }
  if (url.protocol !== 'https:') {
    throw usageFailure(`${what} must begin with https://, not ${url.protocol}//`, 'The gateway only speaks TLS.');
  }
  if (url.search !== '' || url.hash !== '') {
    throw usageFailure(`${what} has a query or fragment`, 'Give only scheme, host, port and path.');
  }
  return url.origin + url.pathname.replace(/\/+$/, '');
}

/** Returns the URL of one cluster behind a gateway, for the field `server` of a kubeconfig entry. */
export function clusterServer(root: string, cluster: string): string {
  return `${root}/clusters/${encodeURIComponent(cluster)}/proxy`;
}

/**
 * The root to which {@link clusterServer} appends clusters when the gateway is reached through an APIService of a hub.
 * @param hubRoot URL of the hub's API server
 */
export function aggregatedRoot(hubRoot: string): string {
  return hubRoot + clustersPath.slice(0, clustersPath.lastIndexOf('/'));
}

/** Returns the URL of the index, which answers for all clusters, for the field `server` of a kubeconfig entry. */
export function indexServer(root: string): string {
  return `${root}${indexPath}`;
}
