// The index flags of `portcullis serve`. The defaults shown in --help come from the code that reads the configuration.
import type { Command } from 'commander';
import { indexDefaults } from '../config/sections/index-config.ts';

/** Adds the index flags. Their values are checked later, with the rest of the configuration. */
export function addIndexFlags(command: Command): Command {
  return command
    .option(
      '--index-resources <list>',
      'what is indexed: pods,deployments.apps,… or "*" for everything that can be watched but events and leases; ' +
        '"none": no index (default: the common workload, configuration and RBAC kinds, once somebody asks)',
    )
    .option('--index-clusters <list>', 'names of the clusters that are indexed, or a label selector (default: all)')
    .option(
      '--index-exclude <list>',
      'what is not indexed of any cluster: secrets,*.example.org,pods{namespaces=a b},configmaps{names=x},*{namespaces=kube-system} ' +
        '(default: nothing). Annotations of a cluster can leave out more',
    )
    .option('--index-max-bytes <size>', 'what the index may take on disk, 512Mi or 20Gi (default: no limit)')
    .option(
      '--index-rights-max-age <duration>',
      "how long a cluster's RBAC may decide since the cluster last confirmed it; then its rows are hidden " +
        `(default: ${indexDefaults.indexRightsMaxAge})`,
    )
    .option(
      '--index-rights <auto|rbac|review>',
      'what decides who sees which rows of a cluster without the label search.portcullis.io/rights: its mirrored RBAC, its ' +
        'answers to SubjectAccessReviews, or the first unless it has other authorizers (default: auto)',
    )
    .option(
      '--index-identity <auto|impersonate|self>',
      "as whom clusters are read for the index: portcullis:index where it may, else the gateway's own credential, or always " +
        'one of them (default: auto). Rows are decided by the rights of whoever asks',
    )
    .option(
      '--index-store <sqlite|postgres://…>',
      'where the index is kept: in the data directory, or in a PostgreSQL database, postgres://USER@HOST:PORT/DATABASE with ' +
        'the parameters of libpq, that several gateways may share (default: PORTCULLIS_INDEX_STORE, or sqlite)',
    )
    .option(
      '--index-store-password-file <file>',
      'password of the database, read for each connection (default: PORTCULLIS_INDEX_STORE_PASSWORD)',
    )
    .option('--index-store-schema <name>', 'schema of its tables, made when it is not there (default: portcullis)')
    .option('--index-store-connections <number>', 'connections of one process to the database at most (default: 10)')
    .option(
      '--allowed-proxy-subresources <list>',
      "what Clusterpedia's paths of one cluster forward to it, as the caller: pods/log,exec,… (default: nothing)",
    );
}
