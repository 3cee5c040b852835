// Generates the page docs/reference/command-line.md from the program. The page contains the output of --help. After a
// change of commands or flags, run `node bin/write-reference.ts`; a test fails until the page is up to date.
import type { Command } from 'commander';
import { makeProgram } from './program.ts';

/** Path of the generated page, relative to the root of the repository. */
export const referencePath = 'docs/reference/command-line.md';

const head = `# Command line

<!-- Made by \`node bin/write-reference.ts\` from the program itself; do not edit. -->

In a checkout, after \`npm ci\`, the program is \`npx portcullis\`. It is installed as \`kubectl-portcullis\` too, so that
\`kubectl portcullis …\` works the same.

Results go to stdout, everything else to stderr; no colours are used. A failure is one line that names the cause and one that names the
next step.

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
