// URLs of the gateway: its root from any address a kubeconfig may hold, and the address of one cluster below it. A
// root may have a path (a gateway behind another one), so only a trailing `…/<name>/proxy` of ours is cut off.
import { usageFailure } from '../failure.ts';

/** Path of the cluster list below the gateway's root. */
export const clustersPath = '/apis/gateway.portcullis.io/v1alpha1/clusters';

// The short form, then the aggregated form of ours and of the drop-in groups.
const clusterSuffix = /(?:\/apis\/[^/]+\/[^/]+\/(?:clusters|clustergateways)|\/clusters)\/[^/]+\/proxy$/;
/** Where the index has native Kubernetes paths; long-running for a hub's kube-apiserver, so that watches live. */
const indexPath = '/apis/search.portcullis.io/v1alpha1/indexes/default/proxy';

/**
 * Checks the value of `--server` or a kubeconfig's `server` and cuts it down to the gateway's root, without a trailing
 * slash.
 * @param what where the value comes from, for the message
 * @throws Failure (usage) when it is not an https URL or holds a user, query or fragment
 */
export function gatewayRoot(server: string, what: string): string {
  const whole = serverRoot(server, what);
  if (whole.endsWith(indexPath)) return whole.slice(0, -indexPath.length).replace(/\/+$/, '');
  return whole.replace(clusterSuffix, '').replace(/\/+$/, '');
}

/**
 * As {@link gatewayRoot}, but cuts no cluster off the path: the server is a cluster, perhaps one behind a gateway.
 * @throws Failure (usage) as {@link gatewayRoot} does
 */
export function serverRoot(server: string, what: string): string {
  let url: URL;
  try {
    url = new URL(server);
  } catch {
    // Not echoed: what does not parse may still hold a password.
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

/** `server` of the kubeconfig entry of one cluster. */
export function clusterServer(root: string, cluster: string): string {
  return `${root}/clusters/${encodeURIComponent(cluster)}/proxy`;
}

/** `server` of the kubeconfig entry for the index over all clusters. */
export function indexServer(root: string): string {
  return `${root}${indexPath}`;
}
