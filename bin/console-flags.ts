// The flags of `portcullis serve` about the web console.
import type { Command } from 'commander';

/** Adds the flags of the web console. Their values are checked later, with the rest of the configuration. */
export function addConsoleFlags(command: Command): Command {
  return command
    .option('--console [boolean]', 'serve the console below /console/ (default: true)')
    .option('--console-oidc-issuer <url>', "the console's users may log in by this identity provider (default: none)")
    .option('--console-oidc-client-id <id>', 'the public client of that provider that the console is')
    .option(
      '--console-oidc-scopes <scopes>',
      'what the console asks the provider for (default: "openid email profile")',
    );
}
