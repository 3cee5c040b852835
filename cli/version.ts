// `portcullis version`: prints the version of Portcullis and of Node, and the version of a gateway if the flags name
// one.
import { readFileSync } from 'node:fs';
import { Option } from 'commander';
import type { Command } from 'commander';
import { findConnection } from './connection/connection.ts';
import type { ConnectionFlags, KubeconfigFlags } from './connection/connection.ts';
import { Failure } from './terminal/failure.ts';
import { getJson } from './connection/http.ts';
import type { Terminal } from './terminal/terminal.ts';

/**
 * Returns the version in package.json, which is one folder above this file in a checkout and two above in `dist`.
 * @throws Error when package.json is in neither place
 */
export function packageVersion(): string {
  for (const above of ['../package.json', '../../package.json']) {
    try {
      const parsed: unknown = JSON.parse(readFileSync(new URL(above, import.meta.url), 'utf8'));
      if (typeof parsed === 'object' && parsed !== null && 'version' in parsed && typeof parsed.version === 'string') {
        return parsed.version;
      }
    } catch (error) {
      // In `dist/cli`, package.json is not one folder above, so ENOENT is normal there. Any other error means a broken
      // installation.
      if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
    }
  }
  throw new Error('package.json of Portcullis was not found beside its code');
}

/** Flags of `portcullis version`, as commander parses them. */
export interface VersionFlags extends ConnectionFlags, KubeconfigFlags {
  readonly output: 'text' | 'json';
}

const examples = `
Examples:
  $ portcullis version

  # of a gateway, too
  $ portcullis version --server https://127.0.0.1:8443 --certificate-authority ca.crt --token "$TOKEN"
  $ portcullis version --context portcullis-m1 -o json`;

/**
 * Prints the version of this program, and the version of a gateway if the flags name one.
 * @throws Failure (rejects) when the gateway cannot be reached, refuses, or is no gateway
 */
export async function printVersions(flags: VersionFlags, terminal: Terminal): Promise<void> {
  const own = { portcullis: packageVersion(), node: process.versions.node };
  const asksGateway = [flags.server, flags.kubeconfig, flags.context].some((flag) => flag !== undefined);
  const gateway = asksGateway ? await gatewayVersions(flags, terminal) : undefined;
  if (flags.output === 'json') {
    terminal.print(`${JSON.stringify({ ...own, ...(gateway && { gateway }) }, null, 2)}\n`);
    return;
  }
  terminal.print(`portcullis ${own.portcullis}\nnode ${own.node}\n`);
  if (gateway !== undefined) terminal.print(`gateway ${gateway.portcullis} (Kubernetes ${gateway.kubernetes})\n`);
}

/**
 * Asks a gateway for `/version` and splits the answer, such as `v1.36.0+portcullis-0.2.0`, into the two versions.
 * @throws Failure (rejects) when the answer is not that of a gateway
 */
async function gatewayVersions(
  flags: VersionFlags,
  terminal: Terminal,
): Promise<{ readonly portcullis: string; readonly kubernetes: string }> {
  const connection = findConnection(flags, terminal);
  const { gitVersion } = await getJson(connection, '/version', 'application/json');
  const [, kubernetes, portcullis] = /^v(\d+\.\d+)\S*\+portcullis-(\S+)$/.exec(String(gitVersion)) ?? [];
  if (kubernetes === undefined || portcullis === undefined) {
    throw new Failure(
      `${connection.root} does not report a version of Portcullis`,
      'Check that the address is that of a gateway and not of a cluster.',
    );
  }
  return { portcullis, kubernetes };
}

/** Adds the command `version` to the program. */
export function addVersionCommand(program: Command, terminal: Terminal): void {
  program
    .command('version')
    .description('print the version of Portcullis and of the Node it runs on; of a gateway, too, where one is named')
    .option(
      '--kubeconfig <file>',
      'kubeconfig that knows the gateway; it is asked when this, --context or --server is given',
    )
    .option('--context <name>', 'context of that kubeconfig (default: the current one)')
    .option('--server <url>', 'address of the gateway; the kubeconfig is then not read')
    .option('--token <token>', 'bearer token')
    .option('--certificate-authority <file>', "PEM certificate of the CA that signed the gateway's certificate")
    .option('--client-certificate <file>', 'PEM client certificate, in place of a token')
    .option('--client-key <file>', 'PEM key of the client certificate')
    .addOption(new Option('-o, --output <format>', 'how to print it').choices(['text', 'json']).default('text'))
    .addHelpText('after', examples)
    .action((flags: VersionFlags) => printVersions(flags, terminal));
}
