// The section of the configuration about users: which files say who may log in, and which file holds the authorization
// rules. The flags have kube-apiserver's names and meaning. Security: giving both `--anonymous-auth` and a setting
// about anonymous requests in the authentication file is refused, since one of them may be meant to forbid what the
// other allows.
import type { Config } from './configuration.ts';
import { onOff, path } from './settings/kinds.ts';
import { readSettings } from './settings/settings.ts';
import type { Settings, Written } from './settings/settings.ts';

/** The settings about users. */
export const loginSettings = {
  tokenAuthFile: {
    kind: path,
    text: 'users by bearer token: lines of `token,user,uid,"group1,group2"`, as kube-apiserver reads them; watched',
  },
  clientCaFile: {
    kind: path,
    text: 'CA whose client certificates are users: CN is the name, O the groups; watched',
  },
  authenticationConfig: {
    kind: path,
    text: "users by tokens of [identity providers](../how-to/identity-providers.md): kube-apiserver's AuthenticationConfiguration; watched",
  },
  anonymousAuth: {
    kind: onOff,
    otherwise: '`false`, unless the authentication configuration says otherwise',
    text: 'let requests without a credential in as `system:anonymous`',
  },
  authorizationRules: {
    kind: path,
    otherwise: 'every user may use every cluster',
    text: '[who may use which cluster](../how-to/authorization-rules.md); watched',
  },
} satisfies Settings;

/**
 * Checks the settings about users. `written.fault` is called for each one that is wrong.
 * @param isSelf true for `--identity=self`, in which the gateway has a single user with a generated token
 */
export function readLogins(
  written: Written,
  isSelf: boolean,
): Pick<Config, 'tokenAuthFile' | 'clientCaFile' | 'authentication' | 'authorizationRules'> {
  const { authenticationConfig: configFile, anonymousAuth, ...files } = readSettings(loginSettings, written);
  const refused = 'cannot be used with --identity=self, which has one generated token and no other users';
  if (isSelf && configFile !== undefined) written.fault('--authentication-config', refused);
  if (isSelf && anonymousAuth === true) written.fault('--anonymous-auth', refused);
  return { ...files, authentication: Object.freeze({ configFile, anonymousAuth }) };
}
