// Reads the key `exec` of a cluster-gateway Secret of type Dynamic: client-go's ExecConfig as JSON. Whoever wrote the
// Secret is not the operator of the gateway. So the plugin runs only with a command, arguments and environment that the
// operator permitted.
import { z } from 'zod';
import { goFlag, goList, goText } from '../../../lib/yaml/go-fields.ts';
import { GatewayError } from '../../../model/errors.ts';
import { execRefusal, type AllowedExec } from './allowed-exec.ts';
import { bareUser, anonymousPlan, planCredential, type CredentialPlan } from '../kubeconfig/kubeconfig-user.ts';
import { unusable } from '../unusable.ts';

const schema = z.object({
  apiVersion: goText,
  command: goText,
  args: goList(z.string()),
  env: goList(z.object({ name: z.string().min(1), value: goText })),
  installHint: goText,
  provideClusterInfo: goFlag,
});

/**
 * Makes a plan to authenticate with the exec plugin that the Secret describes.
 * @param allowed the command lines and environment variables that the operator permits; a plugin with anything else is
 * refused
 * @throws GatewayError CLUSTER_UNUSABLE with the reason; the message contains no value of the Secret
 */
export function readSecretExec(what: string, json: string, allowed: AllowedExec): CredentialPlan {
  if (json === '') throw unusable(`${what} is missing; put the exec configuration there as JSON`);
  const parsed = schema.safeParse(parse(what, json));
  if (!parsed.success) {
    throw unusable(
      `${what} is not an exec configuration (${parsed.error.issues[0]?.path.join('.') || 'not an object'})`,
    );
  }
  const refusal = execRefusal(parsed.data, allowed);
  if (refusal !== undefined) throw unusable(`${what} ${refusal}`);
  return planOf(what, { ...parsed.data, interactiveMode: 'Never' });
}

function parse(what: string, json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    // The message of JSON.parse quotes the text, which may contain a secret.
    throw unusable(`${what} is not JSON`);
  }
}

function planOf(what: string, exec: NonNullable<Parameters<typeof planCredential>[1]['exec']>): CredentialPlan {
  // An exec plugin in a Secret follows the same rules as a kubeconfig user that has only an exec plugin.
  const user = { ...bareUser, name: what, exec };
  const plan = planCredential('/', user, () => {
    throw new GatewayError('INTERNAL', 'a plugin has no files');
  });
  return plan.exec === undefined ? anonymousPlan : plan;
}
