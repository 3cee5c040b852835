// Reads kube-apiserver's AuthenticationConfiguration (apiserver:pkg/apis/apiserver/v1/types.go) and reports each fault
// with its line. An unknown field or an unsupported expression makes the whole file invalid, because ignoring it could
// let somebody in whom it was meant to keep out.
import { z } from 'zod';
import { ConfigurationError } from '../../lib/configuration-error.ts';
import { checkAuthenticator } from './authentication-config-rules.ts';
import type { JwtAuthenticatorConfig, Report } from './authentication-config-rules.ts';
import { readYaml } from '../../lib/yaml/checked-yaml.ts';
import type { AuthenticatorInput } from './authenticator-schema.ts';
import { optional } from '../../lib/yaml/go-fields.ts';
import type { AnonymousConfig } from '../callers/anonymous.ts';
import { authenticator } from './authenticator-schema.ts';

/** A parsed AuthenticationConfiguration without faults. */
export interface AuthenticationConfig {
  readonly jwt: readonly JwtAuthenticatorConfig[];
  /** Settings for anonymous requests. Undefined when the file has none; then the flag `--anonymous-auth` decides. */
  readonly anonymous: AnonymousConfig | undefined;
}

const maxAuthenticators = 64;

const file = z
  .strictObject({
    apiVersion: z.enum([
      'apiserver.config.k8s.io/v1',
      'apiserver.config.k8s.io/v1beta1',
      'apiserver.config.k8s.io/v1alpha1',
    ]),
    kind: z.literal('AuthenticationConfiguration'),
    jwt: optional(z.array(authenticator)),
    anonymous: optional(
      z.strictObject({ enabled: z.boolean(), conditions: optional(z.array(z.strictObject({ path: z.string() }))) }),
    ),
  })
  .transform((input, context): AuthenticationConfig => {
    const report: Report = (path, message) => context.addIssue({ code: 'custom', path: [...path], message });
    const list = input.jwt ?? [];
    if (list.length > maxAuthenticators) report(['jwt'], `must have at most ${maxAuthenticators} items`);
    const jwt = list.flatMap((one, i) => checkAuthenticator(one, ['jwt', i], report) ?? []);
    reportRepeats(list, report);
    const { anonymous } = input;
    const paths = anonymous?.conditions?.map(({ path }) => path) ?? [];
    if (anonymous?.enabled === false && paths.length > 0)
      report(['anonymous', 'conditions'], 'enabled should be set to true when conditions are defined');
    for (const [i, path] of paths.entries())
      if (!path.startsWith('/')) report(['anonymous', 'conditions', i, 'path'], 'must begin with a slash');
    return { jwt, anonymous: anonymous === undefined ? undefined : { enabled: anonymous.enabled, paths } };
  });

function reportRepeats(list: readonly AuthenticatorInput[], report: Report): void {
  for (const field of ['url', 'discoveryURL'] as const) {
    const seen = new Set<string>();
    for (const [i, { issuer }] of list.entries()) {
      const value = issuer[field];
      if (value === undefined || value === '') continue;
      if (seen.has(value)) report(['jwt', i, 'issuer', field], 'repeats that of an earlier authenticator');
      seen.add(value);
    }
  }
}

/**
 * Parses an AuthenticationConfiguration.
 * @param source the file, decoded from UTF-8
 * @param name of the file, for messages
 * @throws ConfigurationError with every fault: line, column, path and reason
 */
export function readAuthenticationConfig(source: string, name: string): AuthenticationConfig {
  const read = readYaml(source, name, file);
  if ('faults' in read) throw new ConfigurationError(read.faults);
  return read.value;
}
