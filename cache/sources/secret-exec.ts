// Reads the `exec` key of a Dynamic Secret: client-go's ExecConfig as JSON. Easy to get wrong: an allowed command is not allowed with any
// environment; LD_PRELOAD or PATH in the Secret would make another program of it.
import { z } from 'zod';
import { GatewayError } from '../errors.ts';
import { bareUser, anonymousPlan, planCredential, type CredentialPlan } from './kubeconfig-user.ts';
import { unusable } from './unusable.ts';

const text = z
  .string()
  .nullish()
  .transform((value) => value ?? '');
const schema = z.object({
  apiVersion: text,
  command: text,
  args: z
    .array(z.string())
    .nullish()
    .transform((value) => value ?? []),
  env: z
    .array(z.object({ name: z.string().min(1), value: text }))
    .nullish()
    .transform((value) => value ?? []),
  installHint: text,
  provideClusterInfo: z
    .boolean()
    .nullish()
    .transform((value) => value ?? false),
});

/** Variables that change which code runs: of the dynamic linker, of interpreters, of shells. */
const loaderVariable =
  /^(?:LD_|DYLD_|PATH$|PYTHON|NODE_|RUBY|PERL|JAVA_|JDK_|_JAVA|GCONV_PATH$|BASH_|ENV$|IFS$|SHELL$|GIT_|EDITOR$|HOME$|XDG_)/i;

/**
 * The plan to run it.
 * @param allowed commands as the operator wrote them; anything else is refused
 * @throws GatewayError CLUSTER_UNUSABLE with the reason, without any value
 */
export function readSecretExec(what: string, json: string, allowed: readonly string[]): CredentialPlan {
  if (json === '') throw unusable(`${what} is missing; put the exec configuration there as JSON`);
  const parsed = schema.safeParse(parse(what, json));
  if (!parsed.success) {
    throw unusable(`${what} is no exec configuration (${parsed.error.issues[0]?.path.join('.') || 'not an object'})`);
  }
  const { env, ...exec } = parsed.data;
  if (!allowed.includes(exec.command)) {
    throw unusable(
      allowed.length === 0
        ? `${what} asks for an exec plugin: programs are not run for objects of a hub unless their command is allowed; use a ServiceAccountToken`
        : `${what} asks for a command that is not among the allowed ones`,
    );
  }
  const odd = env.find(({ name }) => loaderVariable.test(name) || !/^[A-Za-z_][A-Za-z0-9_]*$/.test(name));
  if (odd !== undefined) throw unusable(`${what} sets an environment variable that may change which program runs`);
  return planOf(what, { ...exec, env, interactiveMode: 'Never' });
}

function parse(what: string, json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    // The parser's message quotes the text.
    throw unusable(`${what} is not JSON`);
  }
}

function planOf(what: string, exec: NonNullable<Parameters<typeof planCredential>[1]['exec']>): CredentialPlan {
  // By the rules of a kubeconfig's user that has nothing but this plugin.
  const user = { ...bareUser, name: what, exec };
  const plan = planCredential('/', user, () => {
    throw new GatewayError('INTERNAL', 'a plugin has no files');
  });
  return plan.exec === undefined ? anonymousPlan : plan;
}
