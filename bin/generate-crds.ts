// `portcullis generate crds`: prints CustomResourceDefinitions for hubs that do not have them: by default those of
// Clusterpedia and of collections, with a flag those of Karmada's search, ClusterJoin, TenantBinding (with its
// admission policies) or ClusterProfile. The Helm chart installs the same texts.
import { Option, type Command } from 'commander';
import { stringify } from 'yaml';
import type { Terminal } from '../cli/terminal/terminal.ts';
import { clusterpediaDefinitions } from '../import/definitions/clusterpedia.ts';
import { clusterProfileDefinition } from '../import/definitions/cluster-profiles.ts';
import { collectionDefinition } from '../import/definitions/collections.ts';
import { resourceRegistryDefinition } from '../import/definitions/karmada.ts';
import { clusterJoinDefinition } from '../join/object/definition.ts';
import { authorMutation, authorValidation } from '../tenants/object/author-policy.ts';
import { tenantBindingDefinition } from '../tenants/object/definition.ts';

const examples = `
Examples:
  $ portcullis generate crds | kubectl apply --server-side -f -
  $ portcullis generate crds --karmada-search | kubectl apply --server-side -f -
  $ portcullis generate crds --cluster-joins | kubectl apply --server-side -f -
  $ portcullis generate crds --tenant-bindings | kubectl apply --server-side -f -
  $ portcullis generate crds --cluster-profiles | kubectl apply --server-side -f -`;

/** The CustomResourceDefinitions and admission policies as YAML documents, by the feature that needs them. */
const texts = {
  clusterpedia: yamlOf([...clusterpediaDefinitions, collectionDefinition]),
  karmadaSearch: yamlOf([resourceRegistryDefinition]),
  clusterJoins: yamlOf([clusterJoinDefinition]),
  tenantBindings: yamlOf([tenantBindingDefinition]),
  authorValidation: yamlOf(authorValidation),
  authorMutation: yamlOf(authorMutation),
  clusterProfiles: yamlOf([clusterProfileDefinition]),
};

/**
 * The files of the Helm chart that hold these definitions: path from the root of the checkout, and content. They are
 * written by `node bin/write-reference.ts`.
 */
export const chartDefinitions: Readonly<Record<string, string>> = {
  'charts/portcullis/files/clusterpedia-crds.yaml': texts.clusterpedia,
  'charts/portcullis/files/karmada-search-crds.yaml': texts.karmadaSearch,
  'charts/portcullis/files/cluster-join-crds.yaml': texts.clusterJoins,
  'charts/portcullis/files/tenant-binding-crds.yaml': texts.tenantBindings,
  'charts/portcullis/files/tenant-author-validation.yaml': texts.authorValidation,
  'charts/portcullis/files/tenant-author-mutation.yaml': texts.authorMutation,
  'charts/portcullis/files/cluster-profile-crds.yaml': texts.clusterProfiles,
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
    .addOption(
      new Option(
        '--tenant-bindings',
        'print TenantBinding and the admission policies about its author in place of them',
      ).conflicts(['karmadaSearch', 'clusterJoins']),
    )
    .addOption(
      new Option('--cluster-profiles', 'print ClusterProfile in place of them').conflicts([
        'karmadaSearch',
        'clusterJoins',
        'tenantBindings',
      ]),
    )
    .addHelpText('after', examples)
    .action((chosen: { readonly [name in keyof typeof texts]?: boolean }) => {
      const { karmadaSearch, clusterJoins, tenantBindings, clusterProfiles } = chosen;
      if (clusterProfiles === true) terminal.print(texts.clusterProfiles);
      else if (tenantBindings === true)
        terminal.print([texts.tenantBindings, texts.authorValidation, texts.authorMutation].join('---\n'));
      else if (clusterJoins === true) terminal.print(texts.clusterJoins);
      else terminal.print(karmadaSearch === true ? texts.karmadaSearch : texts.clusterpedia);
    });
}
