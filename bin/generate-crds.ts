// `portcullis generate crds`: prints the CustomResourceDefinitions of Clusterpedia and of collections, for hubs that do
// not have them. The Helm chart installs the same text.
import type { Command } from 'commander';
import { stringify } from 'yaml';
import type { Terminal } from '../cli/terminal.ts';
import { clusterpediaDefinitions } from '../import/definitions/clusterpedia.ts';
import { collectionDefinition } from '../import/definitions/collections.ts';

/**
 * Path of the definitions in the Helm chart, relative to the root of the repository. `node bin/write-reference.ts`
 * writes this file.
 */
export const chartDefinitionsPath = 'charts/portcullis/files/clusterpedia-crds.yaml';

const examples = `
Examples:
  $ portcullis generate crds | kubectl apply --server-side -f -`;

/** The CustomResourceDefinitions as YAML documents. */
export function definitionsText(): string {
  return [...clusterpediaDefinitions, collectionDefinition]
    .map((definition) => stringify(definition, { lineWidth: 0, aliasDuplicateObjects: false }))
    .join('---\n');
}

/** Adds the command `crds` to the command `generate` of the program. */
export function addGenerateCrds(program: Command, terminal: Terminal): void {
  program.commands
    .find((command) => command.name() === 'generate')
    ?.command('crds')
    .description(
      "print the CustomResourceDefinitions of Clusterpedia's types, which import policies need, and of collections",
    )
    .addHelpText('after', examples)
    .action(() => terminal.print(definitionsText()));
}
