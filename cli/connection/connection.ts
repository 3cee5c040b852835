// Finds out how to reach the gateway and with which credential, from flags or a kubeconfig. Security: with --server the
// kubeconfig is not read, so that the token of one server is never sent to another.
import { environmentProxyOf } from '../../lib/environment-proxy.ts';
import { X509Certificate, createPrivateKey } from 'node:crypto';
import { dirname, resolve } from 'node:path';
import { usageFailure } from '../terminal/failure.ts';
import { gatewayRoot } from './gateway-url.ts';
import type { Connection } from './gateway-connection.ts';
import {
  dataOrFile,
  loadKubeconfig,
  readText,
  refuseImpersonation,
  resolveContext,
  textOf,
} from '../files/kubeconfig-file.ts';
import type { KubeconfigEntry } from '../files/kubeconfig-file.ts';
import type { Terminal } from '../terminal/terminal.ts';

/** Flags that give the gateway's address and the credential to use. */
export interface ConnectionFlags {
  readonly server?: string;
  readonly token?: string;
  readonly certificateAuthority?: string;
  readonly clientCertificate?: string;
  readonly clientKey?: string;
}

/** Flags that choose a kubeconfig and a context in it. They cannot be used together with --server. */
export interface KubeconfigFlags {
  readonly kubeconfig?: string;
  readonly context?: string;
}

type Surroundings = Pick<Terminal, 'env' | 'homeDir' | 'note'>;

/**
 * Returns the connection that the flags describe.
 * @throws Failure (usage) when flags contradict each other or name files that cannot be used
 */
export function connectionFromFlags(
  flags: ConnectionFlags & { readonly server: string },
  terminal: Surroundings,
): Connection {
  const root = gatewayRoot(flags.server, '--server');
  return {
    root,
    ca: flags.certificateAuthority === undefined ? undefined : readCa(flags.certificateAuthority),
    serverName: undefined,
    insecure: false,
    ...credentialOf(flags),
    proxyEnv: proxyOfEnvironment(root, terminal.env),
  };
}

/**
 * Returns the connection for commands that may use a kubeconfig. With --server only flags are used. Otherwise the
 * chosen context is used, and --token replaces the credential of the context.
 * @param rootOf turns the kubeconfig's `server` into the URL for requests: by default into the gateway's root;
 * `serverRoot` keeps the server as it is
 * @throws Failure (usage) when the kubeconfig lacks the context, cluster or credential, or uses a feature that is not
 *   supported
 */
export function findConnection(
  flags: ConnectionFlags & KubeconfigFlags,
  terminal: Surroundings,
  rootOf: typeof gatewayRoot = gatewayRoot,
): Connection {
  if (flags.server !== undefined) {
    if (flags.kubeconfig !== undefined || flags.context !== undefined) {
      throw usageFailure(
        '--server cannot be used together with --kubeconfig or --context',
        'Give either the address and a credential, or a kubeconfig and its context.',
      );
    }
    return connectionFromFlags({ ...flags, server: flags.server }, terminal);
  }
  const hasFlagCredential = [flags.token, flags.clientCertificate, flags.clientKey].some((flag) => flag !== undefined);
  const config = loadKubeconfig(flags.kubeconfig, terminal);
  const { name, cluster, user } = resolveContext(config, flags.context, !hasFlagCredential);
  const root = rootOf(textOf(cluster.value, 'server') ?? '', `the server of context "${name}"`);
  const insecure = cluster.value['insecure-skip-tls-verify'] === true;
  if (insecure) terminal.note(`warning: context "${name}" skips TLS verification (insecure-skip-tls-verify)\n`);
  const fromFile = hasFlagCredential || user === undefined ? undefined : credentialOfUser(user, name);
  return {
    root,
    ca:
      flags.certificateAuthority === undefined
        ? dataOrFile(cluster, 'certificate-authority')
        : readCa(flags.certificateAuthority),
    serverName: textOf(cluster.value, 'tls-server-name'),
    insecure,
    ...(fromFile ?? credentialOf(flags)),
    proxyEnv: proxyOfCluster(cluster, name) ?? proxyOfEnvironment(root, terminal.env),
  };
}

/**
 * Reads a file with CA certificates and returns its PEM text.
 * @throws Failure (usage) when the file holds no certificate
 */
export function readCa(path: string): string {
  const pem = readText(path, false, ' (--certificate-authority)') ?? '';
  try {
    void new X509Certificate(pem);
  } catch (error) {
    throw usageFailure(
      `${path} (--certificate-authority) holds no certificate`,
      "Give a PEM file, such as ca.crt in the gateway's data directory.",
      error,
    );
  }
  return pem;
}

type CredentialParts = Pick<Connection, 'token' | 'clientCertificate'>;

function credentialOf(flags: ConnectionFlags): CredentialParts {
  const { token, clientCertificate, clientKey } = flags;
  if (token !== undefined && (clientCertificate !== undefined || clientKey !== undefined)) {
    throw usageFailure('--token and --client-certificate cannot be used together', 'Give one of them.');
  }
  if (token !== undefined) {
    // Only characters that Go and Node both accept in a header value. Security: the token itself is never put into a
    // message.
    if (!/^[\x21-\x7e]+$/.test(token)) {
      throw usageFailure('the value of --token is empty or holds a space or other unusual character', 'Copy it again.');
    }
    return { token, clientCertificate: undefined };
  }
  if (clientCertificate === undefined && clientKey === undefined) {
    throw usageFailure(
      'no credential is given',
      'Add --token TOKEN, or --client-certificate FILE with --client-key FILE.',
    );
  }
  if (clientCertificate === undefined || clientKey === undefined) {
    throw usageFailure('--client-certificate and --client-key belong together', 'Give both files.');
  }
  return { token: undefined, clientCertificate: readKeyPair(clientCertificate, clientKey) };
}

function readKeyPair(certificatePath: string, keyPath: string): { readonly cert: string; readonly key: string } {
  const cert = readText(certificatePath, false, ' (--client-certificate)') ?? '';
  const key = readText(keyPath, false, ' (--client-key)') ?? '';
  let belongs: boolean;
  try {
    belongs = new X509Certificate(cert).checkPrivateKey(createPrivateKey(key));
  } catch (error) {
    throw usageFailure(
      `${certificatePath} and ${keyPath} are not a PEM certificate and its unencrypted private key`,
      'Check --client-certificate and --client-key.',
      error,
    );
  }
  if (!belongs) {
    throw usageFailure(
      `${keyPath} is not the key of ${certificatePath}`,
      'Check --client-certificate and --client-key.',
    );
  }
  return { cert, key };
}

function credentialOfUser(user: KubeconfigEntry, context: string): CredentialParts {
  refuseImpersonation(
    user,
    context,
    'Choose a context without these fields, or give the token of the one to act as with --token.',
  );
  const cert = dataOrFile(user, 'client-certificate');
  const key = dataOrFile(user, 'client-key');
  const tokenFile = textOf(user.value, 'tokenFile');
  // client-go prefers `tokenFile` to `token` when a user has both, because tokens in files are renewed.
  const token =
    tokenFile === undefined
      ? textOf(user.value, 'token')
      : readText(resolve(dirname(user.file), tokenFile), false, ` (tokenFile in ${user.file})`)?.trim();
  const clientCertificate = cert === undefined || key === undefined ? undefined : { cert, key };
  if (token !== undefined || clientCertificate !== undefined) return { token, clientCertificate };
  const unsupported = ['exec', 'auth-provider', 'username'].find((field) => user.value[field] !== undefined);
  throw usageFailure(
    unsupported === undefined
      ? `the user of context "${context}" has no credential`
      : `the user of context "${context}" signs in by "${unsupported}", which this command does not run`,
    'Give a token with --token, or use kubectl: kubectl get clusters.gateway.portcullis.io',
  );
}

function proxyOfCluster(cluster: KubeconfigEntry, context: string): Connection['proxyEnv'] | undefined {
  const url = textOf(cluster.value, 'proxy-url');
  if (url === undefined) return undefined;
  if (!/^https?:\/\//.test(url)) {
    throw usageFailure(
      `the proxy-url of context "${context}" is not http or https`,
      'Use kubectl instead: kubectl get clusters.gateway.portcullis.io',
    );
  }
  return { HTTPS_PROXY: url };
}

function proxyOfEnvironment(root: string, env: Terminal['env']): Connection['proxyEnv'] {
  const proxy = environmentProxyOf(new URL(root), env);
  return proxy === undefined ? {} : { HTTPS_PROXY: proxy };
}
