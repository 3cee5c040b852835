// Makes a credential source from a CredentialPlan, which says how to authenticate: a fixed credential, or an exec
// plugin that runs when a credential is needed. Plugins inherit the gateway's environment. So a plan with a plugin may
// only come from a kubeconfig of the operator, or have a command line that `--allow-exec` permits.
import { execCredential, type ExecCredentialOptions } from '../../credentials/exec.ts';
import { fixedCredential } from '../../../model/fixed-credential.ts';
import type { CredentialSource, TlsTrust } from '../../../model/records.ts';
import type { CredentialPlan } from './kubeconfig-user.ts';

/** Settings for exec plugins: environment, clock, time limit, and the signal that ends them when the gateway stops. */
export type ExecSettings = Partial<Pick<ExecCredentialOptions, 'environment' | 'now' | 'timeoutMs' | 'run' | 'signal'>>;

/** The JSON of `spec.cluster` in an ExecCredential (client.authentication.k8s.io/v1 Cluster). */
export type ExecClusterInfo = Readonly<Record<string, unknown>>;

/**
 * Makes the credential source for a plan.
 * @param clusterInfo `spec.cluster` of the ExecCredential that the exec plugin gets; undefined when provideClusterInfo
 * is off, or when there is no plugin
 */
export function credentialOfPlan(
  plan: CredentialPlan,
  clusterInfo: ExecClusterInfo | undefined,
  exec: ExecSettings,
): CredentialSource {
  const { kind, authorization, clientCertificate, expiresAtMs } = plan;
  if (kind !== 'exec') return fixedCredential(kind, { authorization, clientCertificate, expiresAtMs });
  if (plan.exec === undefined) throw new Error('the plan of a plugin has no plugin');
  return execCredential({ environment: process.env, ...exec, plan: plan.exec, clusterInfo, clientCertificate });
}

/** The fields of {@link ExecClusterInfo} that say how the API server's certificate is verified. */
export function execTrust(tls: TlsTrust): ExecClusterInfo {
  return {
    ...(tls.serverName === undefined ? {} : { 'tls-server-name': tls.serverName }),
    ...(tls.insecure ? { 'insecure-skip-tls-verify': true } : {}),
    ...(tls.ca === undefined ? {} : { 'certificate-authority-data': Buffer.from(tls.ca, 'utf8').toString('base64') }),
  };
}
