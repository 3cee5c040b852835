// The workloads with which simulated clusters are filled: well-known software by namespace, with versions for rollouts.
// Versions are in the order of their release. The demo rolls out one version after the other, and after the newest the
// oldest again.

/** One workload that the demo creates in a namespace. */
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
  /** The replicas are a random number between these two. */
  readonly replicas: readonly [least: number, most: number];
  /** The data of the workload's ConfigMap. */
  readonly config: Readonly<Record<string, string>>;
}

/** A namespace with its team and workloads. */
export interface NamespaceTemplate {
  readonly name: string;
  readonly team: string;
  readonly apps: readonly AppTemplate[];
}

/**
 * Parses a text with one block of lines for each namespace and an empty line between blocks. The first line of a block
 * has name and team, every other line a workload: name, kind, image, tier, port, replicas, versions, configuration.
 */
function namespaces(text: string): readonly NamespaceTemplate[] {
  return text
    .trim()
    .split('\n\n')
    .map((block) => {
      const [[name = '', team = ''] = [], ...rows] = block.split('\n').map((line) => line.trim().split(' '));
      return { name, team, apps: rows.map(workload) };
    });
}

function workload(parts: readonly string[]): AppTemplate {
  const [name = '', kind, image = '', tier, port, replicas = '', versions = '', ...config] = parts;
  return {
    name,
    kind: kind as AppTemplate['kind'],
    image,
    tier: tier as AppTemplate['tier'],
    port: Number(port),
    replicas: replicas.split('-').map(Number) as [number, number],
    versions: versions.split(','),
    config: Object.fromEntries(config.map((pair) => pair.split('=', 2) as [string, string])),
  };
}

/** The namespace kube-system, which every cluster has. */
export const systemNamespace: NamespaceTemplate = namespaces(`
kube-system platform
  coredns Deployment registry.k8s.io/coredns/coredns platform 53 2-2 v1.11.3,v1.12.0,v1.12.1 ttl=30
  kube-proxy DaemonSet registry.k8s.io/kube-proxy platform 10256 1-1 v1.35.2,v1.36.3 mode=nftables
  metrics-server Deployment registry.k8s.io/metrics-server/metrics-server platform 10250 1-1 v0.7.2,v0.8.0 resolution=9s
`)[0]!;

/** Namespaces with shared services. Each cluster has one or two of them. */
export const platformNamespaces: readonly NamespaceTemplate[] = namespaces(`
monitoring platform
  prometheus StatefulSet quay.io/prometheus/prometheus data 9090 1-2 v3.4.2,v3.5.0,v3.6.0 retention=15d
  grafana Deployment docker.io/grafana/grafana frontend 3000 1-2 11.6.0,12.0.2,12.1.1 theme=light anonymous=false
  alertmanager StatefulSet quay.io/prometheus/alertmanager api 9093 1-1 v0.27.0,v0.28.1 group_wait=30s

ingress-nginx platform
  ingress-nginx-controller Deployment registry.k8s.io/ingress-nginx/controller frontend 8080 2-3 v1.13.0,v1.13.2 gzip=on

cert-manager platform
  cert-manager Deployment quay.io/jetstack/cert-manager-controller platform 9402 1-1 v1.17.4,v1.18.2 logLevel=2
  cert-manager-webhook Deployment quay.io/jetstack/cert-manager-webhook platform 10250 1-1 v1.17.4,v1.18.2 logLevel=2

argocd delivery
  argocd-server Deployment quay.io/argoproj/argocd frontend 8080 1-2 v3.0.12,v3.1.1 insecure=false
  argocd-repo-server Deployment quay.io/argoproj/argocd api 8081 1-1 v3.0.12,v3.1.1 parallelism=4
  argocd-application-controller StatefulSet quay.io/argoproj/argocd platform 8082 1-1 v3.0.12,v3.1.1 statusProcessors=20
`);

/** A namespace that every cluster has. It is the only namespace that the demo user `ben` may view. */
export const sharedNamespace: NamespaceTemplate = namespaces(`
shop storefront
  storefront Deployment ghcr.io/example/storefront frontend 8080 2-3 2.3.0,2.4.0,2.4.1 currency=EUR banner=autumn
  checkout Deployment ghcr.io/example/checkout api 8080 1-2 1.18.2,1.19.0 paymentTimeout=5s
  postgres StatefulSet docker.io/library/postgres data 5432 1-1 17.5,17.6 max_connections=200
  valkey Deployment docker.io/valkey/valkey data 6379 1-1 8.0.3,8.1.3 maxmemory=256mb
`)[0]!;

/** Namespaces of further teams. Each cluster has one or two of them. */
export const teamNamespaces: readonly NamespaceTemplate[] = namespaces(`
media streaming
  jellyfin Deployment docker.io/jellyfin/jellyfin frontend 8096 1-2 10.9.11,10.10.7 transcode=vaapi
  minio StatefulSet quay.io/minio/minio data 9000 1-2 RELEASE.2025-06-13T11-33-47Z,RELEASE.2025-09-07T16-13-09Z tls=on
  transcoder Deployment ghcr.io/example/transcoder jobs 8080 1-3 0.9.4,0.9.5,1.0.0 preset=medium

identity security
  keycloak StatefulSet quay.io/keycloak/keycloak api 8080 2-2 26.2.5,26.3.3 realm=staff
  postgres StatefulSet docker.io/library/postgres data 5432 1-1 17.5,17.6 max_connections=100

analytics data
  kafka StatefulSet docker.io/apache/kafka data 9092 1-3 3.9.1,4.0.0,4.1.0 retention.ms=604800000
  clickhouse StatefulSet docker.io/clickhouse/clickhouse-server data 8123 1-2 25.3,25.8 max_threads=8
  superset Deployment docker.io/apache/superset frontend 8088 1-2 4.1.3,5.0.0 row_limit=50000

collaboration workplace
  gitea Deployment docker.io/gitea/gitea frontend 3000 1-2 1.23.8,1.24.5 registration=false
  mattermost Deployment docker.io/mattermost/mattermost-team-edition frontend 8065 1-2 10.9,10.11 pushNotifications=true
  postgres StatefulSet docker.io/library/postgres data 5432 1-1 16.9,16.10 max_connections=150

payments finance
  ledger Deployment ghcr.io/example/ledger api 8443 2-3 5.2.0,5.2.1,5.3.0 settlement=T+1
  vault StatefulSet docker.io/hashicorp/vault data 8200 1-1 1.19.5,1.20.2 seal=transit
  rabbitmq StatefulSet docker.io/library/rabbitmq data 5672 1-1 4.0.9,4.1.3 vhost=/payments

research science
  jupyterhub Deployment quay.io/jupyterhub/jupyterhub frontend 8000 1-1 5.2.1,5.3.0 spawner=kube
  mlflow Deployment ghcr.io/mlflow/mlflow api 5000 1-2 v2.22.1,v3.3.2 backend=postgresql
  ollama Deployment docker.io/ollama/ollama api 11434 1-2 0.9.6,0.11.4 keepAlive=5m
`);
