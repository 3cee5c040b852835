// Decides from a kubeconfig user how to authenticate, with client-go's rules of precedence. Easy to get wrong: a field
// that is not supported must make the cluster unusable. If it were ignored, requests would go out as another user.
import { dirname, resolve } from 'node:path';
import type { ExecPlan } from '../../credentials/exec.ts';
import { basicAuthorization, bearerAuthorization } from '../../../model/fixed-credential.ts';
import { readKeyPair, type KeyPair } from '../../credentials/pem.ts';
import type { CredentialSource } from '../../../model/records.ts';
import type { ExecEntry, UserEntry } from './kubeconfig-file.ts';
import { unusable } from '../unusable.ts';

/**
 * How to authenticate to a cluster, read from a kubeconfig user or a hub object. A plan is plain data, so that contexts
 * with equal plans can share one CredentialSource.
 */
export interface CredentialPlan {
  readonly kind: CredentialSource['kind'];
  readonly authorization: string | undefined;
  readonly clientCertificate: KeyPair | undefined;
  readonly expiresAtMs: number | undefined;
  readonly exec: ExecPlan | undefined;
}

/**
 * Returns the text of a file that was read before.
 * @throws GatewayError CLUSTER_UNUSABLE when the file could not be read
 */
export type ReadText = (file: string) => string;

/** The plan that sends no credential, for a context that names no user. kubectl permits such contexts. */
export const anonymousPlan: CredentialPlan = Object.freeze({
  kind: 'none',
  authorization: undefined,
  clientCertificate: undefined,
  expiresAtMs: undefined,
  exec: undefined,
});

/** Absolute paths of the files that a user refers to. A relative path starts at the folder of the kubeconfig. */
export function userFiles(kubeconfig: string, user: UserEntry): readonly string[] {
  const files = [user.tokenFile];
  if (user.certificateData === '') files.push(user.certificateFile);
  if (user.keyData === '') files.push(user.keyFile);
  return files.filter((file) => file !== '').map((file) => besideKubeconfig(kubeconfig, file));
}

/** Makes a path of a kubeconfig absolute. A relative path starts at the folder of the kubeconfig. */
export function besideKubeconfig(kubeconfig: string, file: string): string {
  return resolve(dirname(kubeconfig), file);
}

/**
 * A kubeconfig user with all fields empty. Callers set the fields of a credential that does not come from a kubeconfig,
 * so that {@link planCredential} applies the same rules to it.
 */
export const bareUser: Omit<UserEntry, 'name'> = Object.freeze({
  token: '',
  tokenFile: '',
  certificateFile: '',
  certificateData: '',
  keyFile: '',
  keyData: '',
  username: '',
  password: '',
  impersonates: false,
  exec: undefined,
  authProvider: false,
});

/**
 * Chooses the credential by client-go's precedence (`clientcmd.getUserIdentificationPartialConfig`,
 * `rest.Config.TransportConfig`). Inline data wins over a file, tokenFile wins over token, and a token or password wins
 * over an exec plugin. A client certificate is sent in addition to any of them.
 * @param mayFallBack whether `token` may be used when tokenFile cannot be read
 * @throws GatewayError CLUSTER_UNUSABLE with the reason
 */
export function planCredential(
  kubeconfig: string,
  user: UserEntry,
  read: ReadText,
  mayFallBack = true,
): CredentialPlan {
  const who = `user "${user.name}"`;
  if (user.authProvider) {
    throw unusable(`${who} uses auth-provider, which Kubernetes removed; use an exec plugin or a token`);
  }
  if (user.impersonates) {
    throw unusable(
      `${who} impersonates (as, as-uid, as-groups, as-user-extra); remove these fields, since the gateway impersonates its callers itself`,
    );
  }
  const basic = user.username !== '' || user.password !== '';
  if (basic && (user.token !== '' || user.tokenFile !== '')) {
    throw unusable(`${who} has both a token and a password; only one is allowed`);
  }
  const pair = planCertificate(kubeconfig, user, read);
  const certificate = {
    clientCertificate: pair && { cert: pair.cert, key: pair.key },
    expiresAtMs: pair?.expiresAtMs,
    exec: undefined,
  };
  if (user.tokenFile !== '' || user.token !== '')
    return { ...certificate, ...planToken(kubeconfig, user, read, mayFallBack) };
  if (basic) return { ...certificate, kind: 'basic', authorization: basicAuthorization(user.username, user.password) };
  if (user.exec !== undefined) {
    return { ...certificate, kind: 'exec', authorization: undefined, exec: planExec(kubeconfig, who, user.exec) };
  }
  if (pair === undefined) return anonymousPlan;
  return { ...certificate, kind: 'client-certificate', authorization: undefined };
}

function planToken(
  kubeconfig: string,
  user: UserEntry,
  read: ReadText,
  mayFallBack: boolean,
): Pick<CredentialPlan, 'kind' | 'authorization'> {
  if (user.tokenFile !== '') {
    const file = besideKubeconfig(kubeconfig, user.tokenFile);
    try {
      return { kind: 'token-file', authorization: bearerAuthorization(`the token file ${file}`, read(file).trim()) };
    } catch (error) {
      if (user.token === '' || !mayFallBack) throw error;
    }
  }
  return { kind: 'token', authorization: bearerAuthorization(`the token of user "${user.name}"`, user.token) };
}

function planCertificate(
  kubeconfig: string,
  user: UserEntry,
  read: ReadText,
): (KeyPair & { readonly expiresAtMs: number }) | undefined {
  const part = (data: string, file: string): string => {
    if (data !== '' || file === '') return data;
    return read(besideKubeconfig(kubeconfig, file));
  };
  const who = `user "${user.name}"`;
  const hasCertificate = user.certificateData !== '' || user.certificateFile !== '';
  const hasKey = user.keyData !== '' || user.keyFile !== '';
  if (!hasCertificate && !hasKey) return undefined;
  if (!hasKey) throw unusable(`${who} has a client-certificate but no client-key`);
  if (!hasCertificate) throw unusable(`${who} has a client-key but no client-certificate`);
  const cert = part(user.certificateData, user.certificateFile);
  return readKeyPair(`the client certificate of ${who}`, cert, part(user.keyData, user.keyFile));
}

function planExec(kubeconfig: string, who: string, exec: ExecEntry): ExecPlan {
  if (exec.command === '') throw unusable(`${who} has an exec plugin without a command`);
  const { apiVersion } = exec;
  if (apiVersion !== 'client.authentication.k8s.io/v1' && apiVersion !== 'client.authentication.k8s.io/v1beta1') {
    throw unusable(
      `${who}: the exec plugin's apiVersion must be client.authentication.k8s.io/v1 or v1beta1; update the kubeconfig`,
    );
  }
  if (!['', 'Never', 'IfAvailable', 'Always'].includes(exec.interactiveMode)) {
    throw unusable(`${who}: the exec plugin's interactiveMode must be Never, IfAvailable or Always`);
  }
  if (exec.interactiveMode === 'Always') {
    throw unusable(`${who}: the exec plugin needs a terminal (interactiveMode: Always), which a gateway does not have`);
  }
  const written = [exec.command, ...exec.args, ...exec.env.flatMap((item) => [item.name, item.value])];
  if (written.some((part) => part.includes('\0')) || exec.env.some((item) => item.name.includes('='))) {
    throw unusable(`${who}: the exec plugin's command, args or env hold a character that cannot be passed on`);
  }
  return {
    apiVersion,
    command: exec.command.includes('/') ? besideKubeconfig(kubeconfig, exec.command) : exec.command,
    args: exec.args,
    env: exec.env,
    installHint: exec.installHint,
    provideClusterInfo: exec.provideClusterInfo,
  };
}
