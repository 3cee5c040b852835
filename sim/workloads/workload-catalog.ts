// The workloads with which simulated clusters are filled: well-known software by namespace, with versions for rollouts.
// Versions are in the order of their release. The demo rolls forward through them, and then begins again.

/** One workload of a namespace. */
export interface AppTemplate {
  readonly name: string;
  readonly kind: 'Deployment' | 'StatefulSet' | 'DaemonSet';
  /** The image without its tag. */
  readonly image: string;
  /** The tags of the image, oldest first. */
  readonly versions: readonly string[];
  readonly tier: 'frontend' | 'api' | 'data' | 'platform' | 'jobs';
  /** The port of the container and of its Service. */
  readonly port: number;
  readonly replicas: readonly [least: number, most: number];
  /** The data of its ConfigMap. */
  readonly config: Readonly<Record<string, string>>;
}

/** A namespace with its team and workloads. */
export interface NamespaceTemplate {
  readonly name: string;
  readonly team: string;
  readonly apps: readonly AppTemplate[];
}

type Row = readonly [
  name: string,
  kind: AppTemplate['kind'],
  image: string,
  versions: string,
  tier: AppTemplate['tier'],
  port: number,
  replicas: readonly [number, number],
  config: string,
];

function namespace(name: string, team: string, rows: readonly Row[]): NamespaceTemplate {
  const apps = rows.map(([app, kind, image, versions, tier, port, replicas, config]) => ({
    name: app,
    kind,
    image,
    versions: versions.split(' '),
    tier,
    port,
    replicas,
    config: Object.fromEntries(config.split(' ').map((pair) => pair.split('=', 2) as [string, string])),
  }));
  return { name, team, apps };
}

/** The namespace kube-system, which every cluster has. */
export const systemNamespace: NamespaceTemplate = namespace('kube-system', 'platform', [
  [
    'coredns',
    'Deployment',
    'registry.k8s.io/coredns/coredns',
    'v1.11.3 v1.12.0 v1.12.1',
    'platform',
    53,
    [2, 2],
    'ttl=30 upstream=/etc/resolv.conf',
  ],
  [
    'kube-proxy',
    'DaemonSet',
    'registry.k8s.io/kube-proxy',
    'v1.35.2 v1.36.3',
    'platform',
    10256,
    [1, 1],
    'mode=nftables clusterCIDR=10.244.0.0/16',
  ],
  [
    'metrics-server',
    'Deployment',
    'registry.k8s.io/metrics-server/metrics-server',
    'v0.7.2 v0.8.0',
    'platform',
    10250,
    [1, 1],
    'resolution=15s',
  ],
]);

/** Namespaces with shared services. Each cluster has one or two of them. */
export const platformNamespaces: readonly NamespaceTemplate[] = [
  namespace('monitoring', 'platform', [
    [
      'prometheus',
      'StatefulSet',
      'quay.io/prometheus/prometheus',
      'v3.4.2 v3.5.0 v3.6.0',
      'data',
      9090,
      [1, 2],
      'retention=15d scrape_interval=30s',
    ],
    [
      'grafana',
      'Deployment',
      'docker.io/grafana/grafana',
      '11.6.0 12.0.2 12.1.1',
      'frontend',
      3000,
      [1, 2],
      'theme=light anonymous=false',
    ],
    [
      'alertmanager',
      'StatefulSet',
      'quay.io/prometheus/alertmanager',
      'v0.27.0 v0.28.1',
      'api',
      9093,
      [1, 1],
      'group_wait=30s',
    ],
  ]),
  namespace('ingress-nginx', 'platform', [
    [
      'ingress-nginx-controller',
      'Deployment',
      'registry.k8s.io/ingress-nginx/controller',
      'v1.12.3 v1.13.0 v1.13.2',
      'frontend',
      8080,
      [2, 3],
      'proxy-body-size=8m use-gzip=true',
    ],
  ]),
  namespace('cert-manager', 'platform', [
    [
      'cert-manager',
      'Deployment',
      'quay.io/jetstack/cert-manager-controller',
      'v1.17.4 v1.18.2',
      'platform',
      9402,
      [1, 1],
      'leaderElectionNamespace=cert-manager',
    ],
    [
      'cert-manager-webhook',
      'Deployment',
      'quay.io/jetstack/cert-manager-webhook',
      'v1.17.4 v1.18.2',
      'platform',
      10250,
      [1, 1],
      'securePort=10250',
    ],
  ]),
  namespace('argocd', 'delivery', [
    [
      'argocd-server',
      'Deployment',
      'quay.io/argoproj/argocd',
      'v3.0.12 v3.1.1',
      'frontend',
      8080,
      [1, 2],
      'insecure=false',
    ],
    [
      'argocd-repo-server',
      'Deployment',
      'quay.io/argoproj/argocd',
      'v3.0.12 v3.1.1',
      'api',
      8081,
      [1, 1],
      'parallelism=4',
    ],
    [
      'argocd-application-controller',
      'StatefulSet',
      'quay.io/argoproj/argocd',
      'v3.0.12 v3.1.1',
      'platform',
      8082,
      [1, 1],
      'statusProcessors=20',
    ],
  ]),
];

/** A namespace that every cluster has. The demo user `ben` may view only this one. */
export const sharedNamespace: NamespaceTemplate = namespace('shop', 'storefront', [
  [
    'storefront',
    'Deployment',
    'ghcr.io/example/storefront',
    '2.3.0 2.4.0 2.4.1',
    'frontend',
    8080,
    [2, 3],
    'currency=EUR banner=autumn',
  ],
  ['checkout', 'Deployment', 'ghcr.io/example/checkout', '1.18.2 1.19.0', 'api', 8080, [1, 2], 'paymentTimeout=5s'],
  ['postgres', 'StatefulSet', 'docker.io/library/postgres', '17.5 17.6', 'data', 5432, [1, 1], 'max_connections=200'],
  ['valkey', 'Deployment', 'docker.io/valkey/valkey', '8.0.3 8.1.3', 'data', 6379, [1, 1], 'maxmemory=256mb'],
]);

/** Namespaces of further teams. Each cluster has one or two of them. */
export const teamNamespaces: readonly NamespaceTemplate[] = [
  namespace('media', 'streaming', [
    [
      'jellyfin',
      'Deployment',
      'docker.io/jellyfin/jellyfin',
      '10.9.11 10.10.7',
      'frontend',
      8096,
      [1, 2],
      'transcode=vaapi',
    ],
    [
      'minio',
      'StatefulSet',
      'quay.io/minio/minio',
      'RELEASE.2025-06-13T11-33-47Z RELEASE.2025-09-07T16-13-09Z',
      'data',
      9000,
      [1, 2],
      'region=eu',
    ],
    [
      'transcoder',
      'Deployment',
      'ghcr.io/example/transcoder',
      '0.9.4 0.9.5 1.0.0',
      'jobs',
      8080,
      [1, 3],
      'preset=medium',
    ],
  ]),
  namespace('identity', 'security', [
    ['keycloak', 'StatefulSet', 'quay.io/keycloak/keycloak', '26.2.5 26.3.3', 'api', 8080, [2, 2], 'realm=staff'],
    ['postgres', 'StatefulSet', 'docker.io/library/postgres', '17.5 17.6', 'data', 5432, [1, 1], 'max_connections=100'],
  ]),
  namespace('analytics', 'data', [
    [
      'kafka',
      'StatefulSet',
      'docker.io/apache/kafka',
      '3.9.1 4.0.0 4.1.0',
      'data',
      9092,
      [1, 3],
      'retention.ms=604800000',
    ],
    [
      'clickhouse',
      'StatefulSet',
      'docker.io/clickhouse/clickhouse-server',
      '25.3 25.8',
      'data',
      8123,
      [1, 2],
      'max_threads=8',
    ],
    ['superset', 'Deployment', 'docker.io/apache/superset', '4.1.3 5.0.0', 'frontend', 8088, [1, 2], 'row_limit=50000'],
  ]),
  namespace('collaboration', 'workplace', [
    ['gitea', 'Deployment', 'docker.io/gitea/gitea', '1.23.8 1.24.5', 'frontend', 3000, [1, 2], 'registration=false'],
    [
      'mattermost',
      'Deployment',
      'docker.io/mattermost/mattermost-team-edition',
      '10.9 10.11',
      'frontend',
      8065,
      [1, 2],
      'pushNotifications=true',
    ],
    [
      'postgres',
      'StatefulSet',
      'docker.io/library/postgres',
      '16.9 16.10',
      'data',
      5432,
      [1, 1],
      'max_connections=150',
    ],
  ]),
  namespace('payments', 'finance', [
    ['ledger', 'Deployment', 'ghcr.io/example/ledger', '5.2.0 5.2.1 5.3.0', 'api', 8443, [2, 3], 'settlement=T+1'],
    ['vault', 'StatefulSet', 'docker.io/hashicorp/vault', '1.19.5 1.20.2', 'data', 8200, [1, 1], 'seal=transit'],
    ['rabbitmq', 'StatefulSet', 'docker.io/library/rabbitmq', '4.0.9 4.1.3', 'data', 5672, [1, 1], 'vhost=/payments'],
  ]),
  namespace('research', 'science', [
    [
      'jupyterhub',
      'Deployment',
      'quay.io/jupyterhub/jupyterhub',
      '5.2.1 5.3.0',
      'frontend',
      8000,
      [1, 1],
      'spawner=kube',
    ],
    ['mlflow', 'Deployment', 'ghcr.io/mlflow/mlflow', 'v2.22.1 v3.3.2', 'api', 5000, [1, 2], 'backend=postgresql'],
    ['ollama', 'Deployment', 'docker.io/ollama/ollama', '0.9.6 0.11.4', 'api', 11434, [1, 2], 'keepAlive=5m'],
  ]),
];
