// Finds weaknesses in how a cluster or the hub is reached, and in the gateway's credential for it. Clusters from every
// source have the same type here, so the same checks apply to kubeconfigs and to Secrets on the hub.
import type { ClusterSpec, Credential, CredentialSource } from '../../model/records.ts';
import { isLoopback } from '../../lib/text/host-port.ts';
import { certificateWeaknesses } from './certificates.ts';
import type { Weakness } from './weakness.ts';

/**
 * The fields of a cluster record that say how the cluster is reached. The context of a hub's kubeconfig has these
 * fields too.
 */
export type ReachedCluster = Pick<ClusterSpec, 'endpoint' | 'tls' | 'proxy' | 'fallbacks'>;

/**
 * Weaknesses of an address, its TLS settings and its proxy.
 * @param where name for people, such as `cluster "prod" (file, context)`
 */
export function reachWeaknesses(cluster: ReachedCluster, where: string, nowMs: number): readonly Weakness[] {
  const found: Weakness[] = [];
  const ways = [{ endpoint: cluster.endpoint, tls: cluster.tls }, ...(cluster.fallbacks ?? [])];
  if (ways.some(({ tls }) => tls.insecure)) {
    found.push({
      name: 'InsecureTLS',
      severity: 'high',
      where,
      what: 'the certificate of the API server is not verified: whoever is on the way can take the credential and answer in its place',
      fix: 'Remove insecure-skip-tls-verify and give certificate-authority-data, with tls-server-name where the name differs.',
    });
  }
  if (ways.some(({ endpoint }) => endpoint?.scheme === 'http' && !isLoopback(endpoint.host))) {
    found.push({
      name: 'PlainHTTP',
      severity: 'high',
      where,
      what: 'the API server is asked over plain HTTP: credential, identities and answers are readable on the way',
      fix: 'Use its https address and its certificate authority.',
    });
  }
  const { proxy } = cluster;
  if (proxy?.scheme === 'http' && !isLoopback(proxy.host)) {
    const isLoggedIn = proxy.userinfo !== undefined || (proxy.headers ?? []).length > 0;
    found.push({
      name: 'ClearTextProxy',
      severity: isLoggedIn ? 'high' : 'low',
      where,
      what: `the proxy ${proxy.host} is spoken to in clear text: ${isLoggedIn ? 'the password for it is readable on the way, and ' : ''}anybody on the way sees which cluster is asked`,
      fix: 'Use an https:// proxy-url.',
    });
  }
  for (const { tls } of ways)
    if (tls.ca !== undefined) found.push(...certificateWeaknesses(tls.ca, where, 'certificate authority', nowMs));
  return found;
}

/** Weaknesses that every credential of this kind has, whatever the credential itself contains. */
export function credentialKindWeaknesses(
  kind: CredentialSource['kind'] | undefined,
  where: string,
): readonly Weakness[] {
  if (kind === 'basic') {
    return [
      {
        name: 'BasicCredential',
        severity: 'medium',
        where,
        what: 'the gateway logs in by user name and password, which never expire and no current Kubernetes takes',
        fix: 'Use a ServiceAccount token in a tokenFile, or a client certificate.',
      },
    ];
  }
  if (kind === 'exec') {
    return [
      {
        name: 'ExecPlugin',
        severity: 'low',
        where,
        what: 'a program is run for the credential, as the user and with the environment of the gateway',
        fix: 'Use a ServiceAccount token in a tokenFile (portcullis generate member-access), or accept it: --accept ExecPlugin.',
      },
    ];
  }
  return [];
}

/** Weaknesses of one particular credential, such as an expired certificate. */
export function credentialWeaknesses(
  kind: CredentialSource['kind'],
  credential: Credential,
  where: string,
  nowMs: number,
): readonly Weakness[] {
  const found: Weakness[] = [];
  const { clientCertificate, authorization } = credential;
  // An exec plugin renews its certificate by itself, so the expiry of that certificate is no weakness.
  if (clientCertificate !== undefined && kind !== 'exec')
    found.push(...certificateWeaknesses(clientCertificate.cert, where, 'client certificate', nowMs));
  if (kind === 'token') {
    const end = tokenEndMs(authorization);
    found.push({
      name: 'StaticMemberToken',
      severity: 'medium',
      where,
      what:
        end === undefined
          ? "the gateway's token stands in plain text and never expires: a copy of it works until somebody deletes it in the cluster"
          : `the gateway's token stands in plain text and cannot be renewed; it ${end <= nowMs ? 'ended' : 'ends'} on ${new Date(end).toISOString().slice(0, 10)}`,
      fix: 'Use tokenFile with a token that is renewed (a projected ServiceAccount token), or a client certificate.',
    });
  }
  if (kind === 'token-file' && (tokenEndMs(authorization) ?? Number.POSITIVE_INFINITY) <= nowMs) {
    found.push({
      name: 'TokenExpired',
      severity: 'high',
      where,
      what: "the gateway's token is over, and nobody put a new one into its file",
      fix: 'Renew the token in the file.',
    });
  }
  return found;
}

/**
 * The expiry (`exp`) of a JWT in milliseconds since 1970; undefined when the token is no JWT or does not expire. The
 * signature is not verified.
 */
function tokenEndMs(authorization: string | undefined): number | undefined {
  const payload = /^Bearer [\w-]+\.([\w-]+)\.[\w-]*$/.exec(authorization ?? '')?.[1];
  if (payload === undefined) return undefined;
  try {
    const { exp } = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8')) as { exp?: unknown };
    return typeof exp === 'number' ? exp * 1000 : undefined;
  } catch {
    return undefined;
  }
}
