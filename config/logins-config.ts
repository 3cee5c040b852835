// The section of the configuration about logins: which files say who may log in, and which file holds the authorization
// rules.
import { readAuthenticationFlags } from './sections/authentication-flags.ts';
import type { Config } from './configuration.ts';
import { writtenPath } from './written.ts';
import type { Written } from './written.ts';

/**
 * Checks the settings about logins. `written.fault` is called for each one that is wrong.
 * @param isSelf true for `--identity=self`, in which the gateway has a single user with a generated token
 */
export function readLogins(
  written: Written,
  isSelf: boolean,
): Pick<Config, 'tokenAuthFile' | 'clientCaFile' | 'authentication' | 'authorizationRules'> {
  const { flags, file, fault } = written;
  return {
    tokenAuthFile: writtenPath(written, 'tokenAuthFile'),
    clientCaFile: writtenPath(written, 'clientCaFile'),
    authentication: readAuthenticationFlags(
      {
        authenticationConfig: writtenPath(written, 'authenticationConfig'),
        anonymousAuth: flags.anonymousAuth ?? file.anonymousAuth,
      },
      isSelf,
      fault,
    ),
    authorizationRules: writtenPath(written, 'authorizationRules'),
  };
}
