// Makes the credential source of a kubeconfig's plan: fixed, or a plugin that runs when needed. Plugins get the
// operator's own environment, so only drafts of files that the operator named come here, never those of a hub's
// objects.
import { execCredential, type ExecCredentialOptions } from '../../credentials/exec.ts';
import { fixedCredential } from '../../credentials/fixed.ts';
import type { CredentialSource } from '../../model/records.ts';
import type { ClusterDraft } from './kubeconfig-cluster.ts';

/** What plugins run with: their environment, clock, limits. */
export type ExecSurroundings = Partial<Pick<ExecCredentialOptions, 'environment' | 'now' | 'timeoutMs' | 'run'>>;

/** @param signal kills a running plugin */
export function credentialOfDraft(
  draft: ClusterDraft,
  exec: ExecSurroundings | undefined,
  signal: AbortSignal,
): CredentialSource {
  const { exec: plan, kind, authorization, clientCertificate, expiresAtMs } = draft.plan;
  if (kind !== 'exec') return fixedCredential(kind, { authorization, clientCertificate, expiresAtMs });
  if (plan === undefined) throw new Error(`${draft.spec.sourceDetail}: a plan for a plugin without the plugin`);
  return execCredential({
    environment: process.env,
    ...exec,
    plan,
    clusterInfo: draft.execCluster,
    clientCertificate,
    signal,
  });
}
