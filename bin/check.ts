// The command `portcullis check`: looks for weaknesses in a configuration of `portcullis serve` and prints them. It
// accepts all flags of `serve`, so that every configuration with which `serve` runs can be checked.
import { Option } from 'commander';
import type { Command } from 'commander';
import { checkExitCode, checkJson, checkSummary, checkTable } from '../cli/check-report.ts';
import type { Terminal } from '../cli/terminal/terminal.ts';
import { packageVersion } from '../cli/version.ts';
import type { LongRunningVerbs, CheckOptions } from './verbs.ts';

const examples = `
Takes every flag of serve. Exits 0 when nothing is weak, 1 when something is, 2 when something could not be read.

Examples:
  # the configuration a gateway runs with, its clusters asked what the credential may do there
  $ portcullis check --config portcullis.yaml

  # in CI: files only, two points accepted
  $ portcullis check --config portcullis.yaml --offline --accept StaticTokens,ExecPlugin -o json`;

/**
 * Adds the command `check` to the program.
 * @param serve the command `serve`, whose flags `check` accepts too
 * @param verbs the functions that run the commands
 */
export function addCheckCommand(program: Command, serve: Command, verbs: LongRunningVerbs): void {
  const check = program
    .command('check')
    .description('say what is weak in a configuration of serve, and how to mend it')
    .addOption(new Option('-o, --output <format>', 'how to print it').choices(['table', 'json']).default('table'))
    .option('--offline', 'read files only: ask no cluster and no hub, run no plugin')
    .option('--accept <names>', 'weak points that do not count, by name, comma-separated')
    .addHelpText('after', examples)
    .action(async (options: CheckOptions) => void (await verbs.check(options)));
  for (const option of serve.options) {
    // The help of `check` does not list the flags of `serve`, except --config. Each flag is copied before it is hidden,
    // because otherwise it would be hidden in the help of `serve` too.
    check.addOption(
      Object.assign(Object.create(Option.prototype) as Option, option, { hidden: option.long !== '--config' }),
    );
  }
}

/** Runs `portcullis check` and prints the weaknesses that were found. @returns the exit code */
export async function check(options: CheckOptions, terminal: Terminal): Promise<number> {
  const { checkConfiguration } = await import('../gateway/check/check.ts');
  const { output, offline = false, accept = '', ...flags } = options;
  const accepted = new Set(accept.split(',').map((name) => name.trim()));
  const report = await checkConfiguration(flags, { offline, nowMs: terminal.nowMs(), version: packageVersion() });
  if (output === 'json') terminal.print(checkJson(report, accepted));
  else {
    terminal.print(checkTable(report, accepted));
    terminal.note(checkSummary(report, accepted));
  }
  return checkExitCode(report, accepted);
}
