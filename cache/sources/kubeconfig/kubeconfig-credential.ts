// Makes the credential source of a plan: fixed, or a plugin that runs when needed. Plugins get the gateway's own
// environment, so a plan with a plugin comes from a file of the operator, or was allowed by --allow-exec.
import { execCredential, type ExecCredentialOptions } from '../../credentials/exec.ts';
import { fixedCredential } from '../../credentials/fixed.ts';
import type { CredentialSource, TlsTrust } from '../../model/records.ts';
import type { CredentialPlan } from './kubeconfig-user.ts';

/** How plugins run: their environment, clock, limits, and the signal that ends them with the gateway. */
export type ExecSettings = Partial<Pick<ExecCredentialOptions, 'environment' | 'now' | 'timeoutMs' | 'run' | 'signal'>>;

/** `spec.cluster` of an ExecCredential (client.authentication.k8s.io/v1 Cluster). */
export type ExecClusterInfo = Readonly<Record<string, unknown>>;

/** @param clusterInfo undefined when the plan is no plugin or its plugin does not ask for it */
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

/** The fields of {@link ExecClusterInfo} that say how the cluster is verified. */
export function execTrust(tls: TlsTrust): ExecClusterInfo {
  return {
    ...(tls.serverName === undefined ? {} : { 'tls-server-name': tls.serverName }),
    ...(tls.insecure ? { 'insecure-skip-tls-verify': true } : {}),
    ...(tls.ca === undefined ? {} : { 'certificate-authority-data': Buffer.from(tls.ca, 'utf8').toString('base64') }),
  };
}
