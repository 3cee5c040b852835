// `portcullis version`: which Portcullis and which Node this is.
import { readFileSync } from 'node:fs';
import { Option } from 'commander';
import type { Command } from 'commander';
import type { Terminal } from './terminal.ts';

/** Version of the package this file belongs to; both the checkout and `dist` have package.json above them. */
export function packageVersion(): string {
  for (const above of ['../package.json', '../../package.json']) {
    try {
      const parsed: unknown = JSON.parse(readFileSync(new URL(above, import.meta.url), 'utf8'));
      if (typeof parsed === 'object' && parsed !== null && 'version' in parsed && typeof parsed.version === 'string') {
        return parsed.version;
      }
    } catch (error) {
      // dist/cli has no package.json one level up; anything else is a broken installation and worth its stack trace.
      if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
    }
  }
  throw new Error('package.json of Portcullis was not found beside its code');
}

/** Adds `version` to the program. */
export function addVersionCommand(program: Command, terminal: Terminal): void {
  program
    .command('version')
    .description('print the version of Portcullis and of the Node it runs on')
    .addOption(new Option('-o, --output <format>', 'how to print it').choices(['text', 'json']).default('text'))
    .addHelpText('after', '\nExamples:\n  $ portcullis version\n  $ portcullis version -o json')
    .action((options: { readonly output: string }) => {
      const versions = { portcullis: packageVersion(), node: process.versions.node };
      terminal.print(
        options.output === 'json'
          ? `${JSON.stringify(versions, null, 2)}\n`
          : `portcullis ${versions.portcullis}\nnode ${versions.node}\n`,
      );
    });
}
