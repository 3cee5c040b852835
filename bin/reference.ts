// Generates the files, and parts of files, that are derived from the program: the page of the command line, the tables
// of settings on the page of the configuration file, the part of the chart's schema that allows settings, and the
// chart's definitions. After a change, run `node bin/write-reference.ts`; a test fails until all are up to date.
import type { Command } from 'commander';
import { z } from 'zod';
import { limitSettings } from '../config/sections/limits-config.ts';
import { allSettings, settingSections } from '../config/all-settings.ts';
import { defaultText, flagOf } from '../config/settings/settings.ts';
import type { Settings } from '../config/settings/settings.ts';
import { chartDefinitions } from './generate-crds.ts';
import { makeProgram } from './program.ts';
import { plain } from './serve-flags.ts';

/**
 * The generated files: path relative to the root of the repository, and text.
 * @param read returns the text of a file, for those of which only a part is generated
 */
export function generatedFiles(read: (path: string) => string): Readonly<Record<string, string>> {
  const page = 'docs/reference/configuration.md';
  const schema = 'charts/portcullis/values.schema.json';
  return {
    'docs/reference/command-line.md': referencePage(),
    [page]: withTables(read(page)),
    [schema]: withSettings(read(schema), read('charts/portcullis/templates/_process.tpl')),
    ...chartDefinitions,
  };
}

/** The page with a new table between the two comments of each section. */
function withTables(page: string): string {
  return page.replaceAll(
    /(<!-- settings: (.*) -->\n)[^]*?(<!-- end -->)/g,
    (_, begin: string, heading: keyof typeof settingSections, end: string) =>
      `${begin}${tableOf(settingSections[heading])}${end}`,
  );
}

function tableOf(settings: Settings): string {
  const rows = Object.entries(settings).map(([name, setting]) => {
    const meaning = setting.hasNoFlag === true ? `*no flag*: ${setting.text}` : setting.text;
    return `| \`${name}\` | ${defaultText(setting)} | ${meaning} |`.replaceAll('  ', ' ');
  });
  return ['| Key | Default | Meaning |', '|---|---|---|', ...rows, ''].join('\n');
}

/**
 * The schema of the chart's values, in which `limits` are all limits, and `settings` all settings that the chart does
 * not set by itself.
 * @param template the template that makes the command line and the configuration file
 */
function withSettings(text: string, template: string): string {
  const schema = JSON.parse(text) as { properties: Record<string, object> };
  const others = Object.fromEntries(
    Object.entries(allSettings).filter(
      ([name]) =>
        !(name in limitSettings) &&
        !new RegExp(`(?:--(?:no-)?${flagOf(name).slice(2)}\\b(?!-)|^${name}:)`, 'm').test(template),
    ),
  );
  schema.properties['limits'] = schemaOf(limitSettings);
  schema.properties['settings'] = schemaOf(others);
  return `${JSON.stringify(schema, undefined, 2)}\n`;
}

function schemaOf(settings: Settings): object {
  const properties = Object.entries(settings).map(([name, { kind, text }]) => {
    const { $schema: _draft, ...schema } = z.toJSONSchema(kind.file);
    return [name, { description: plain(text), ...schema }];
  });
  return { type: 'object', additionalProperties: false, properties: Object.fromEntries(properties) };
}

const head = `# Command line

<!-- Made by \`node bin/write-reference.ts\` from the program itself; do not edit. -->

In a checkout, after \`npm ci\`, the program is \`npx portcullis\`. It is installed as \`kubectl-portcullis\` too, so that
\`kubectl portcullis …\` works the same.

Results go to stdout, everything else to stderr; no colours are used. A failure is one line that names the cause and
one that names the next step.

| Exit code | Meaning |
|---|---|
| 0 | done |
| 1 | tried and failed: the gateway cannot be reached or refuses, a file cannot be written; \`check\`: something is weak |
| 2 | cannot be right: unknown command or flag, contradicting flags, unreadable or malformed file; \`check\`: something could not be read |

| Variable | Read by | Meaning |
|---|---|---|
| \`KUBECONFIG\` | \`get\`, \`apply\`, \`diff\`, \`delete\`, \`works\` | kubeconfig files, as kubectl reads them: separated by \`:\`, the first wins |
| \`HTTPS_PROXY\`, \`NO_PROXY\` | \`get\`, \`kubeconfig\`, \`apply\`, \`diff\`, \`delete\` | proxy on the way to the gateway; never used for loopback addresses |
| \`XDG_STATE_HOME\` | \`serve\`, \`apply\` | where the data directory is unless \`--data-dir\` says otherwise; what \`--resume\` remembers |
`;

/** Text of the page about the command line: an introduction, then a section with the --help of each command. */
export function referencePage(): string {
  let shown = '';
  const program = makeProgram(
    { serve: () => Promise.resolve(), demo: () => Promise.resolve(), check: () => Promise.resolve() },
    { env: {}, homeDir: '', nowMs: () => 0, print: (text) => void (shown += text), note: () => {} },
  );
  const sections = everyCommand(program, '').map(({ command, path }) => {
    shown = '';
    command.outputHelp();
    return `## ${path}\n\n\`\`\`text\n${shown.trimEnd()}\n\`\`\`\n`;
  });
  return [head, ...sections].join('\n');
}

function everyCommand(
  command: Command,
  above: string,
): readonly { readonly command: Command; readonly path: string }[] {
  const path = `${above} ${command.name()}`.trim();
  return [{ command, path }, ...command.commands.flatMap((child) => everyCommand(child, path))];
}
