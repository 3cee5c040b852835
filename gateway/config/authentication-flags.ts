// The flags about identity providers and anonymous requests: kube-apiserver's names and meaning. Allowing anonymous
// requests in flag and file at once is refused, since one of them may have been meant to forbid it.
import { z } from 'zod';
import type { Fault } from './values.ts';

/** The flags after they were read. Paths are absolute. */
export interface AuthenticationFlags {
  /** kube-apiserver's AuthenticationConfiguration. */
  readonly configFile: string | undefined;
  /** Undefined without the flag; then the file decides. */
  readonly anonymousAuth: boolean | undefined;
}

/** What a person may write. */
export interface AuthenticationInput {
  readonly authenticationConfig?: string | undefined;
  /** A flag without a value is true. */
  readonly anonymousAuth?: string | boolean | undefined;
}

/** The same in the configuration file. */
export const authenticationFileFields = {
  authenticationConfig: z.string().min(1).optional(),
  anonymousAuth: z.boolean().optional(),
};

/**
 * Reads them; faults are handed to `fault`.
 * @param given flags over file, paths absolute
 * @param isSelf `--identity=self`, which has no other users
 */
export function readAuthenticationFlags(
  given: AuthenticationInput,
  isSelf: boolean,
  fault: Fault,
): AuthenticationFlags {
  const { authenticationConfig: configFile, anonymousAuth: said } = given;
  const anonymousAuth = typeof said === 'string' ? booleans.get(said) : said;
  if (said !== undefined && anonymousAuth === undefined) fault('--anonymous-auth', 'must be true or false');
  if (isSelf && configFile !== undefined)
    fault('--authentication-config', 'not with --identity=self, which has one generated token and no other users');
  if (isSelf && anonymousAuth === true)
    fault('--anonymous-auth', 'not with --identity=self, which has one generated token and no other users');
  return Object.freeze({ configFile, anonymousAuth });
}

const booleans: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['false', false],
]);
