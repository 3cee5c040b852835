// Identity providers and anonymous requests as the configuration asks for them, followed for change. A provider that
// cannot be reached does not keep the gateway from starting: it is reported and asked again.
import { makeAnonymousAuthenticator } from '../../auth/callers/anonymous.ts';
import type { Authenticator } from '../../auth/callers/authenticate.ts';
import { readAuthenticationConfig } from '../../auth/jwt/authentication-config.ts';
import type { AnonymousConfig } from '../../auth/jwt/authentication-config.ts';
import { followIssuerKeys, issuerTiming } from '../../auth/jwt/issuer-keys.ts';
import { makeJwtAuthenticator } from '../../auth/jwt/jwt.ts';
import { ConfigurationError } from '../../lib/configuration-error.ts';
import type { Config } from '../config/configuration.ts';
import type { Log } from '../operations/log.ts';
import type { Reloading } from './reloading.ts';

/** See the file comment. */
export interface IdentityProviders {
  /** By tokens of the providers; undefined without a configuration file. */
  readonly tokens: Authenticator | undefined;
  /** Asked last; undefined when no request can be anonymous. */
  readonly anonymous: Authenticator | undefined;
  /** Providers whose keys cannot be had, one text each. */
  faults(): readonly string[];
  close(): void;
}

const nobody: AnonymousConfig = { enabled: false, paths: [] };

/**
 * Reads the file and begins to follow the providers it names; waits for none of them.
 * @throws ConfigurationError for a file that cannot be read or is not valid
 */
export async function startIdentityProviders(
  config: Pick<Config, 'authentication' | 'outgoing' | 'timeScale'>,
  reloading: Reloading,
  log: Log,
): Promise<IdentityProviders> {
  const { configFile, anonymousAuth } = config.authentication;
  let anonymous: AnonymousConfig = anonymousAuth === true ? { enabled: true, paths: [] } : nobody;
  if (configFile === undefined) {
    return {
      tokens: undefined,
      anonymous: anonymous.enabled ? makeAnonymousAuthenticator(() => anonymous) : undefined,
      faults: () => [],
      close: () => undefined,
    };
  }
  const providers = makeJwtAuthenticator({
    forwardSystemMasters: config.outgoing.forwardSystemMasters,
    forwardReserved: config.outgoing.forwardReserved,
    follow: (issuer) =>
      followIssuerKeys(issuer, {
        timing: issuerTiming(config.timeScale),
        onFault(fault) {
          if (fault === undefined) log.info({ issuer: issuer.url }, 'the keys of the identity provider are here');
          else log.warn({ issuer: issuer.url, fault }, 'the keys of the identity provider cannot be had');
        },
      }),
  });
  await reloading.add([configFile], (text = '') => {
    const read = readAuthenticationConfig(text, configFile);
    if (read.anonymous !== undefined && anonymousAuth !== undefined) {
      const message = 'not together with --anonymous-auth: say it in one place';
      throw new ConfigurationError([{ file: configFile, path: 'anonymous', message }]);
    }
    providers.replace(read.jwt);
    if (anonymousAuth === undefined) anonymous = read.anonymous ?? nobody;
  });
  return {
    tokens: providers.authenticate,
    anonymous: makeAnonymousAuthenticator(() => anonymous),
    faults: () => providers.faults(),
    close: () => providers.close(),
  };
}
