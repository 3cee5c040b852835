// The flags of `portcullis serve` about the hub and about the user that clusters see. Some flags have a second name
// that users of cluster-gateway know; the second name is accepted but not shown in --help.
import { Option } from 'commander';
import type { Command } from 'commander';
import { defaultCollectionsLease } from '../config/controllers/collections-config.ts';
import { defaultClusterpediaNamespace } from '../config/controllers/import-config.ts';
import { defaultJoinsLease } from '../config/controllers/joins-config.ts';
import { defaultTenantsLease } from '../config/controllers/tenants-config.ts';
import { defaultProfilesLease, defaultProfilesNamespace } from '../config/controllers/profiles-config.ts';
import { defaultWorksExecutor, defaultWorksLease } from '../config/controllers/works-config.ts';
import { sourceNames } from '../config/values/source-names.ts';

/**
 * Adds the flags about the hub, and about the user that clusters see. Their values are checked later, with the rest of
 * the configuration.
 * @param note prints a warning, for flags of cluster-gateway that have no effect
 */
export function addHubFlags(command: Command, note: (text: string) => void): Command {
  addHubObjectFlags(command);
  addHubDecisionFlags(command);
  addHubIdentityFlags(command);
  addImportFlags(command);
  addJoinFlags(command);
  addTenantFlags(command);
  addProfileFlags(command);
  addWorksFlags(command);
  return addSecondSpellings(command, note);
}

/** Adds the flags about where the hub is and which of its objects describe clusters. */
function addHubObjectFlags(command: Command): void {
  command
    .option(
      '--hub-kubeconfig <file>',
      'hub whose objects are clusters and whose users are users (default in a pod: the cluster it runs in; "" for none)',
    )
    .option(
      '--sources <names>',
      `where clusters come from; of equally old ones the first wins a name (default: ${sourceNames.join(',')})`,
    )
    .option(
      '--secret-namespace <ns>',
      "namespace of cluster-gateway's Secrets (default: open-cluster-management-credentials)",
    )
    .option(
      '--secret-namespaces <ns,...>',
      'namespaces of the Secrets of Cluster API, vcluster and Argo CD (default: all, of Argo CD only argocd)',
    )
    .option(
      '--managed-service-account <name>',
      'ManagedServiceAccount whose tokens are used (default: cluster-gateway)',
    )
    .option('--karmada-namespace <ns>', "namespace of Karmada's Secrets (default: karmada-cluster)")
    .option(
      '--karmada-search <mode>',
      "index Karmada's clusters as its ResourceRegistry objects say. beside: Karmada's search keeps them; replace: this gateway serves them in its place, and writes their status to the hub (default: they are not read)",
    )
    .option(
      '--allow-exec <line>',
      "command line that an exec plugin of cluster-gateway's Secrets may be, * for a value; repeatable (default: none)",
      (line: string, earlier: readonly string[] | undefined): readonly string[] => [...(earlier ?? []), line],
    )
    .option(
      '--allow-exec-env <names>',
      'environment variables such a plugin may be given, with any value, beside the few that are plain (default: none)',
    )
    .option(
      '--allow-member-addresses <ranges>',
      "addresses that the hub's objects may name although they are loopback, link-local or metadata services' (default: none)",
    )
    .option(
      '--refuse-member-addresses <ranges>',
      "addresses that they may not name either, for example the hub's Service range (default: none)",
    )
    .option('--cluster-gateway-api', 'serve cluster.core.oam.dev too (default: true)')
    .option('--no-cluster-gateway-api', 'do not')
    .option(
      '--serving-secret <ns/name>',
      'Secret through which replicas share the certificate of the gateway; made and renewed by them',
    )
    .option('--serving-names <names>', 'DNS names and IP addresses of that certificate')
    .option('--api-services <names>', 'APIServices that get its CA as caBundle');
}

/** Adds the flags about how the hub authenticates and authorizes callers. */
function addHubDecisionFlags(command: Command): void {
  command
    .option('--authorize-verb <mode>', 'ask the hub about the real verb or the HTTP method: real, http (default: real)')
    .option('--subpath-authorization', 'ask the hub about the request inside the cluster, too')
    .option(
      '--hub-origins <origins>',
      'addresses of the hub, for programs that send theirs as Origin, for example https://hub.example.com:6443 (default: those that its pods use)',
    )
    .option('--api-audiences <names>', "audiences a token must have (default: the hub's own)")
    .option(
      '--authentication-token-webhook-cache-ttl <duration>',
      'how long a TokenReview is remembered (default: 10s)',
    )
    .option('--authorization-webhook-cache-authorized-ttl <duration>', 'how long a yes is remembered (default: 10s)')
    .option('--authorization-webhook-cache-unauthorized-ttl <duration>', 'how long a no is remembered (default: 10s)');
}

/** Adds the flags about the user that clusters see, and about konnectivity's proxy. */
function addHubIdentityFlags(command: Command): void {
  command
    .option('--forward-system-masters', "let a hub's system:masters be system:masters in the clusters")
    .option(
      '--forward-reserved <names>',
      'further reserved users and groups of a hub or identity provider that are themselves in the clusters, for example system:authenticated:oauth (default: none)',
    )
    .option(
      '--service-account-identity <mode>',
      "what a hub's ServiceAccount is called in the clusters: prefixed, as-is, refuse (default: prefixed)",
    )
    .option(
      '--identity-exchange <file>',
      "rules that change who goes out: cluster-gateway's ClusterGatewayProxyConfiguration",
    )
    .option('--allow-privileged-identity', 'load PrivilegedIdentityExchanger rules')
    .option('--privileged-user <name>', 'whom those rules impersonate')
    .option('--impersonation-mode <mode>', 'what goes out of a user: full, username (default: full)')
    .option('--impersonate-extra <keys>', 'extra keys that go out (default: all)')
    .option('--proxy-host <host>', "konnectivity's proxy server, for clusters behind it")
    .option('--proxy-port <port>', 'its port (default: 8090)')
    .option('--proxy-ca-cert <pem>', 'CA of its certificate')
    .option('--proxy-cert <pem>', 'certificate for it')
    .option('--proxy-key <pem>', 'key of that certificate');
}

/** Adds the flags about objects of the hub other than clusters: collections, and Clusterpedia's import policies. */
function addImportFlags(command: Command): void {
  command
    .option(
      '--hub-collections',
      'collections of the index may be defined by CollectionResource objects (index.portcullis.io) of the hub, whose status is written',
    )
    .option(
      '--collections-lease <ns/name>',
      `Lease of the replica that writes their status (default: ${defaultCollectionsLease})`,
    )
    .option(
      '--import-policies',
      "import clusters by Clusterpedia's ClusterImportPolicy objects, and keep the status of PediaClusters; writes to the hub",
    )
    .option(
      '--clusterpedia-namespace <ns>',
      `namespace of the Leases that tell who does that (default: ${defaultClusterpediaNamespace})`,
    )
    .option(
      '--sharding-name <name>',
      'take only PediaClusters with this spec.shardingName (default: those without one)',
    );
}

/** Adds the flags about clusters that join by ClusterJoin objects. */
function addJoinFlags(command: Command): void {
  command
    .option('--cluster-joins', 'let clusters join and leave by ClusterJoin objects; writes to hub and clusters')
    .option('--joins-lease <ns/name>', `Lease of the replica that does so (default: ${defaultJoinsLease})`)
    .option(
      '--joins-bootstrap-namespaces <names>',
      'namespaces whose labelled Clusters of Cluster API join (default: none)',
    );
}

/** Adds the flags about rights that are granted in clusters by objects of the hub. */
function addTenantFlags(command: Command): void {
  command
    .option(
      '--tenant-bindings',
      'grant rights in clusters as TenantBinding objects say, as their author; writes to hub and clusters',
    )
    .option('--cluster-permissions', "do so for OCM's ClusterPermission objects, too")
    .option('--tenants-lease <ns/name>', `Lease of the replica that does so (default: ${defaultTenantsLease})`);
}

/** Adds the flags about the ClusterProfiles that the gateway publishes. */
function addProfileFlags(command: Command): void {
  command
    .option(
      '--publish-cluster-profiles [namespace]',
      `publish a ClusterProfile (multicluster.x-k8s.io) of each cluster in this namespace of the hub, by which other programs find it; writes to the hub (default namespace: ${defaultProfilesNamespace})`,
    )
    .option(
      '--profiles-address <url>',
      'address of the gateway for these programs, such as https://gateway.example.com',
    )
    .option('--profiles-ca <file>', "authority of the certificate at that address (default: the gateway's own)")
    .option('--profiles-lease <ns/name>', `Lease of the replica that publishes (default: ${defaultProfilesLease})`);
}

/** Adds the flags about executing OCM's ManifestWorks in clusters without an OCM agent. */
function addWorksFlags(command: Command): void {
  command
    .option(
      '--execute-works',
      "execute OCM's ManifestWorks in clusters that are chosen for it; writes to hub and clusters",
    )
    .option(
      '--works-cluster-sets <names>',
      'ManagedClusterSets whose clusters are chosen (default: by annotation alone)',
    )
    .option(
      '--works-default-executor <account>',
      `as whom works without executor are written: NAMESPACE/NAME of a ServiceAccount, deny, or gateway for its own credential (default: ${defaultWorksExecutor})`,
    )
    .option('--works-accept-unstamped', 'weak: execute works although it is not proven who changed them last')
    .option('--works-hub-url <url>', 'address of the hub as clusters see it, which names what was applied for it')
    .option('--works-agent-id <id>', 'name of this executor in clusters (default: made of the address of the hub)')
    .option('--works-lease <ns/name>', `Lease of the replica that executes (default: ${defaultWorksLease})`)
    .option('--works-eviction-grace <duration>', 'how long what was applied is kept whose work is gone (default: 60m)')
    .option('--works-hold-on-denied', 'keep objects whose executor may not delete them any more')
    .option('--works-raw-feedback', 'feed objects and lists back as JSON text')
    .option('--works-history <number>', 'how many executed specs a work keeps to go back to (default: 10, 0: none)');
}

function addSecondSpellings(command: Command, note: (text: string) => void): Command {
  const hidden = (flags: string, description: string): Option => new Option(flags, description).hideHelp();
  return command
    .addOption(hidden('--cluster-gateway-proxy-config <file>', '--identity-exchange'))
    .addOption(hidden('--authorize-proxy-subpath', '--subpath-authorization'))
    .addOption(hidden('--ocm-integration', 'the source ocm, which is on by default'))
    .addOption(
      hidden('--feature-gates <gates>', "cluster-gateway's").argParser((gates: string) => {
        for (const gate of gates.split(',')) note(featureGateNote(gate.trim()));
        return gates;
      }),
    );
}

/**
 * Returns the warning for a feature gate of cluster-gateway: that the gate has no effect here, and what to do instead
 * or that it can be removed.
 */
function featureGateNote(gate: string): string {
  const [name = '', value = ''] = gate.split('=');
  if (name === 'ClientIdentityPenetration' && value === 'false') {
    return 'warning: --feature-gates ClientIdentityPenetration=false has no effect: the gateway always impersonates the caller; see --identity-exchange for other identities\n';
  }
  const known = ['ClientIdentityPenetration', 'SecretCache', 'HealthinessCheck', 'APIPriorityAndFairness'];
  if (known.includes(name)) return `warning: --feature-gates ${name} has no effect and can be removed\n`;
  return `warning: --feature-gates ${name} is not known and has no effect\n`;
}
