// The zod schema of one JWT authenticator in an AuthenticationConfiguration. It only checks the shape;
// `authentication-config-rules.ts` checks the meaning.
import { z } from 'zod';
import { optional } from '../../lib/yaml/go-fields.ts';

const text = z.string();

const prefixedMapping = z.strictObject({
  claim: optional(text),
  prefix: optional(text),
  expression: optional(text),
});

export const authenticator = z.strictObject({
  issuer: z.strictObject({
    url: text,
    discoveryURL: optional(text),
    certificateAuthority: optional(text),
    audiences: optional(z.array(text)),
    audienceMatchPolicy: optional(text),
    egressSelectorType: optional(text),
  }),
  claimValidationRules: optional(
    z.array(
      z.strictObject({
        claim: optional(text),
        requiredValue: optional(text),
        expression: optional(text),
        message: optional(text),
      }),
    ),
  ),
  claimMappings: z.strictObject({
    username: prefixedMapping,
    groups: optional(prefixedMapping),
    uid: optional(z.strictObject({ claim: optional(text), expression: optional(text) })),
    extra: optional(z.array(z.strictObject({ key: text, valueExpression: optional(text) }))),
  }),
  userValidationRules: optional(z.array(z.strictObject({ expression: optional(text), message: optional(text) }))),
});

/** One entry of `jwt` as written in the file. */
export type AuthenticatorInput = z.output<typeof authenticator>;
