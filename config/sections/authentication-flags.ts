// The flags about identity providers and anonymous requests, with kube-apiserver's names and meaning. Security: giving
// both `--anonymous-auth` and a setting about anonymous requests in the authentication file is refused, since one of
// them may be meant to forbid what the other allows.
import { z } from 'zod';
import type { Fault } from '../values/values.ts';

/** Flags about authentication, after they were checked. Paths are absolute. */
export interface AuthenticationFlags {
  /** File with kube-apiserver's AuthenticationConfiguration. */
  readonly configFile: string | undefined;
  /** Undefined when `--anonymous-auth` was not given; then the authentication file decides. */
  readonly anonymousAuth: boolean | undefined;
}

/** The flags as the operator wrote them, before they are checked. */
export interface AuthenticationInput {
  readonly authenticationConfig?: string | undefined;
  /** Value of `--anonymous-auth`; the flag without a value means true. */
  readonly anonymousAuth?: string | boolean | undefined;
}

/** Schema of the authentication settings in the configuration file. */
export const authenticationFileFields = {
  authenticationConfig: z.string().min(1).optional(),
  anonymousAuth: z.boolean().optional(),
};

/**
 * Checks the authentication settings; `fault` is called for each setting that is wrong.
 * @param given value of the flag, or of the configuration file when the flag is absent; with absolute paths
 * @param isSelf true for `--identity=self`, in which the gateway has a single user
 */
export function readAuthenticationFlags(
  given: AuthenticationInput,
  isSelf: boolean,
  fault: Fault,
): AuthenticationFlags {
  const { authenticationConfig: configFile, anonymousAuth: said } = given;
  const anonymousAuth = typeof said === 'string' ? booleans.get(said) : said;
  if (said !== undefined && anonymousAuth === undefined) fault('--anonymous-auth', 'must be true or false');
  const refused = 'cannot be used with --identity=self, which has one generated token and no other users';
  if (isSelf && configFile !== undefined) fault('--authentication-config', refused);
  if (isSelf && anonymousAuth === true) fault('--anonymous-auth', refused);
  return Object.freeze({ configFile, anonymousAuth });
}

const booleans: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['false', false],
]);
