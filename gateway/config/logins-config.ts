// Reads the section of the configuration about logins: which files say who may log in, and which file holds the
// authorization rules.
import { readAuthenticationFlags } from './authentication-flags.ts';
import type { Config } from './configuration.ts';
import { writtenPath } from './written.ts';
import type { Written } from './written.ts';

/** Reads the section. @param isSelf `--identity=self`, with one generated token and no other users */
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
