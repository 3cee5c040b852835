// The settings of the hub: where it is, which of its objects describe clusters, and how it authenticates and authorizes
// callers.
import { execLineFault } from '../../cache/sources/objects/allowed-exec.ts';
import { parseRange } from '../../lib/text/ip-address.ts';
import {
  anyText,
  duration,
  list,
  namespace,
  namespacedName,
  namespaces,
  onOff,
  oneOf,
  path,
  pathOr,
  repeated,
  whole,
} from '../settings/kinds.ts';
import type { Kind, Settings } from '../settings/settings.ts';
import { sourceNames } from '../settings/source-names.ts';
import type { SourceName } from '../settings/source-names.ts';

/** The values of `--karmada-search`; HubConfig says what they mean. */
export type KarmadaSearch = 'beside' | 'replace';

const allowedExec: Kind<readonly string[]> = {
  ...repeated,
  placeholder: '<line>',
  read: (written, place) => {
    const lines = repeated.read(written, place);
    for (const message of (lines ?? []).map(execLineFault)) if (message !== undefined) place.fault(message);
    return lines;
  },
};

const ranges = list((one) =>
  parseRange(one) === undefined ? `"${one}" is not an address or a range such as 127.0.0.0/8 or fd00::/8` : undefined,
);

const reviewTtl = duration();

/** The settings of the hub: where it is, and which of its objects describe clusters. */
export const hubSettings = {
  hubKubeconfig: {
    kind: pathOr(''),
    otherwise: 'in a pod the cluster it runs in, else none',
    text: 'kubeconfig of the hub: the API server whose objects describe clusters, and which says who callers are and what they may do; `""` for none',
  },
  sources: {
    kind: list((one) =>
      sourceNames.includes(one as SourceName)
        ? undefined
        : `"${one}" is no source; there are ${sourceNames.join(', ')}`,
    ),
    default: sourceNames.join(','),
    text: 'where clusters come from; [who has a name](hub-sources.md#names) keeps it, of two that are new and equally old the one whose source is earlier gets it',
  },
  secretNamespace: {
    kind: namespace,
    default: 'open-cluster-management-credentials',
    text: "namespace of cluster-gateway's Secrets",
  },
  secretNamespaces: {
    kind: namespaces,
    placeholder: '<ns,...>',
    default: [],
    otherwise: 'all, of Argo CD only `argocd`',
    text: 'namespaces of the Secrets of Cluster API, vcluster and Argo CD',
  },
  managedServiceAccount: {
    kind: anyText,
    placeholder: '<name>',
    default: 'cluster-gateway',
    text: 'ManagedServiceAccount whose token Secrets are used',
  },
  karmadaNamespace: { kind: namespace, default: 'karmada-cluster', text: "namespace of Karmada's Secrets" },
  allowExec: {
    kind: allowedExec,
    default: [],
    otherwise: 'none',
    text: "[whole command line](hub-sources.md#cluster-gateway) that an exec plugin of cluster-gateway's Secrets may be, `*` for a value; repeatable, in the file a text or a list",
  },
  allowExecEnv: {
    kind: list((name) =>
      /^[A-Za-z_][A-Za-z0-9_]*$/.test(name)
        ? undefined
        : `${JSON.stringify(name)} is no name of an environment variable`,
    ),
    default: [],
    otherwise: 'none',
    text: 'environment variables that such a plugin may be given, with any value, beside the few that are plain',
  },
  allowMemberAddresses: {
    kind: ranges,
    placeholder: '<ranges>',
    default: [],
    otherwise: 'none',
    text: "addresses that the hub's objects may name although they are [refused by default](../how-to/member-addresses.md)",
  },
  refuseMemberAddresses: {
    kind: ranges,
    placeholder: '<ranges>',
    default: [],
    otherwise: 'none',
    text: "addresses that the hub's objects may not name, for example the hub's Service range; these are refused in any case",
  },
  clusterGatewayApi: { kind: onOff, default: true, text: 'serve cluster.core.oam.dev/v1alpha1 too' },
  servingSecret: {
    kind: namespacedName,
    text: 'Secret, it must exist and may be empty, through which replicas share the certificate they make and renew',
  },
  servingNames: {
    kind: list(),
    default: [],
    otherwise: 'none',
    text: 'DNS names and IP addresses of that certificate',
  },
  apiServices: { kind: list(), default: [], otherwise: 'none', text: 'APIServices that get its CA as `caBundle`' },
  proxyHost: {
    kind: anyText,
    placeholder: '<host>',
    text: "konnectivity's proxy server, for clusters that only call out",
  },
  proxyPort: { kind: whole({ least: 1, most: 65_535 }), placeholder: '<port>', default: 8090, text: 'its port' },
  proxyCaCert: { kind: path, text: 'CA of its certificate' },
  proxyCert: { kind: path, text: 'certificate for it' },
  proxyKey: { kind: path, text: 'key of that certificate' },
} satisfies Settings;

/** The settings for authentication and authorization of callers by the hub. */
export const hubDecisionSettings = {
  authorizeVerb: {
    kind: oneOf('real', 'http'),
    default: 'real',
    text: 'what the hub is asked about: the `real` verb (list, watch, `create` for exec, attach and port-forward) or the one the `http` method stands for',
  },
  subpathAuthorization: {
    kind: onOff,
    default: false,
    alias: 'authorizeProxySubpath',
    text: 'ask the hub about the request inside the cluster, too',
  },
  hubOrigins: {
    kind: list((one) =>
      /^https:\/\/[^\s/?#@*\\]+$/i.test(one)
        ? undefined
        : `"${one}" is not an origin such as https://hub.example.com:6443`,
    ),
    placeholder: '<origins>',
    default: [],
    otherwise: 'those that its pods use',
    text: 'addresses of the hub, for programs that send theirs as `Origin` through it ([browsers](../how-to/browsers.md)), such as `https://hub.example.com:6443`',
  },
  apiAudiences: {
    kind: list(),
    default: [],
    otherwise: "the hub's own",
    text: 'audiences a bearer token must have',
  },
  authenticationTokenWebhookCacheTtl: {
    kind: reviewTtl,
    default: '10s',
    text: 'how long a TokenReview is remembered',
  },
  authorizationWebhookCacheAuthorizedTtl: {
    kind: reviewTtl,
    default: '10s',
    text: 'how long a SubjectAccessReview that allows is remembered',
  },
  authorizationWebhookCacheUnauthorizedTtl: {
    kind: reviewTtl,
    default: '10s',
    text: 'how long a SubjectAccessReview that denies is remembered',
  },
} satisfies Settings;

/** The settings of Karmada's search. */
export const karmadaSearchSettings = {
  karmadaSearch: {
    kind: oneOf<KarmadaSearch>('beside', 'replace'),
    otherwise: 'they are not read',
    text: "index Karmada's clusters as its ResourceRegistry objects say, [beside Karmada's search or in its place](../how-to/karmada-search.md); `replace` writes to the hub",
  },
} satisfies Settings;
