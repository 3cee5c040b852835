// `portcullis generate crds`: prints Clusterpedia's types and that of collections, the one of Karmada's search, or
// ClusterJoin, for hubs that do not have them. The chart installs the same texts.
import { Option, type Command } from 'commander';
import { stringify } from 'yaml';
import type { Terminal } from '../cli/terminal.ts';
import { clusterpediaDefinitions } from '../import/definitions/clusterpedia.ts';
import { collectionDefinition } from '../import/definitions/collections.ts';
import { resourceRegistryDefinition } from '../import/definitions/karmada.ts';
import { clusterJoinDefinition } from '../join/object/definition.ts';

const examples = `
Examples:
  $ portcullis generate crds | kubectl apply --server-side -f -
  $ portcullis generate crds --karmada-search | kubectl apply --server-side -f -
  $ portcullis generate crds --cluster-joins | kubectl apply --server-side -f -`;

/** The definitions as YAML documents: those of Clusterpedia and collections, of Karmada's search, and of joins. */
const texts = {
  clusterpedia: yamlOf([...clusterpediaDefinitions, collectionDefinition]),
  karmadaSearch: yamlOf([resourceRegistryDefinition]),
  clusterJoins: yamlOf([clusterJoinDefinition]),
};

/**
 * The files in which the chart has them, from the root of the checkout, with what each holds. Written by `node
 * bin/write-reference.ts`.
 */
export const chartDefinitions: Readonly<Record<string, string>> = {
  'charts/portcullis/files/clusterpedia-crds.yaml': texts.clusterpedia,
  'charts/portcullis/files/karmada-search-crds.yaml': texts.karmadaSearch,
  'charts/portcullis/files/cluster-join-crds.yaml': texts.clusterJoins,
};

function yamlOf(definitions: readonly object[]): string {
  return definitions
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
    .option('--karmada-search', "print ResourceRegistry of Karmada's search in place of them")
    .addOption(new Option('--cluster-joins', 'print ClusterJoin in place of them').conflicts('karmadaSearch'))
    .addHelpText('after', examples)
    .action((chosen: { readonly karmadaSearch?: boolean; readonly clusterJoins?: boolean }) => {
      if (chosen.clusterJoins === true) terminal.print(texts.clusterJoins);
      else terminal.print(chosen.karmadaSearch === true ? texts.karmadaSearch : texts.clusterpedia);
    });
}
