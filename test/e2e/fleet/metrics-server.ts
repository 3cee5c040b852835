// A small metrics-server: an aggregated API of a real kube-apiserver with the figures that a test gives. Like the real
// one it serves no watch, and asks its API server whether a caller may. It takes the caller's name from the headers of
// the aggregator unchecked, which is for tests only.
import type { IncomingMessage } from 'node:http';
import { createAuthority } from '../../pretend/certificates.ts';
import type { Member } from '../../controlplane/fixture.ts';
import { newServer, sendJson } from '../../pretend/server.ts';

const group = 'metrics.k8s.io';
const groupVersion = `${group}/v1beta1`;
const service = { name: 'metrics-server', namespace: 'kube-system' };
const apiService = `/apis/apiregistration.k8s.io/v1/apiservices/v1beta1.${group}`;
const verbs = ['get', 'list'];

/** CPU and memory of one pod. */
export interface Measured {
  readonly namespace: string;
  readonly name: string;
  readonly cpu: string;
  readonly memory: string;
}

export interface MetricsServer {
  /** Stops listening, as when its pod is down; the APIService stays. */
  stop(): Promise<void>;
  /** Removes the APIService. */
  uninstall(): Promise<void>;
}

const discovery = {
  kind: 'APIResourceList',
  apiVersion: 'v1',
  groupVersion,
  resources: [
    { name: 'nodes', singularName: '', namespaced: false, kind: 'NodeMetrics', verbs },
    { name: 'pods', singularName: '', namespaced: true, kind: 'PodMetrics', verbs },
  ],
};

/** Installs it in a member. Resolves once the aggregator takes it. */
export async function startMetricsServer(member: Member, pods: readonly Measured[]): Promise<MetricsServer> {
  const authority = await createAuthority('metrics-server-ca');
  const host = `${service.name}.${service.namespace}.svc`;
  const { certPem, keyPem } = await authority.issue({ commonName: host, dnsNames: [host], usage: 'server' });
  const { port, close } = await newServer(
    (asked, answer) => {
      answerMetrics(member, pods, asked).then(
        ([status, body]) => sendJson(answer, status, body),
        (error: unknown) =>
          sendJson(answer, 500, { kind: 'Status', apiVersion: 'v1', code: 500, message: String(error) }),
      );
    },
    { cert: certPem, key: keyPem },
  );
  await member.apply(
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: service,
      spec: { type: 'ExternalName', externalName: '127.0.0.1', ports: [{ name: 'https', port, protocol: 'TCP' }] },
    },
    {
      apiVersion: 'apiregistration.k8s.io/v1',
      kind: 'APIService',
      metadata: { name: `v1beta1.${group}` },
      spec: {
        group,
        version: 'v1beta1',
        groupPriorityMinimum: 100,
        versionPriority: 100,
        caBundle: Buffer.from(authority.certPem).toString('base64'),
        service: { ...service, port },
      },
    },
  );
  return {
    stop: close,
    async uninstall() {
      await member.request('DELETE', apiService);
    },
  };
}

async function answerMetrics(
  member: Member,
  pods: readonly Measured[],
  { url, headers }: IncomingMessage,
): Promise<readonly [status: number, body: object]> {
  const notFound = { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason: 'NotFound', code: 404 };
  const path = url!.split('?')[0]!;
  if (path === `/apis/${groupVersion}`) return [200, discovery];
  const match = /^\/apis\/metrics\.k8s\.io\/v1beta1(?:\/namespaces\/([^/]+))?\/(pods|nodes)$/.exec(path);
  if (match === null) return [404, notFound];
  const [, namespace, resource] = match;
  const user = String(headers['x-remote-user']);
  const groups = [headers['x-remote-group'] ?? []].flat().flatMap((each) => each.split(', '));
  const resourceAttributes = { group, resource, verb: 'list', namespace: namespace ?? '' };
  const review = await member.request('POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SubjectAccessReview',
    spec: { user, groups, resourceAttributes },
  });
  if ((JSON.parse(review.body) as { status?: { allowed?: boolean } }).status?.allowed !== true) {
    const message = `${resource}.${group} is forbidden: User "${user}" cannot list resource "${resource}"`;
    return [403, { ...notFound, reason: 'Forbidden', code: 403, message }];
  }
  const shown = resource === 'pods' ? pods.filter((pod) => namespace === undefined || pod.namespace === namespace) : [];
  const [timestamp, window] = ['2026-01-01T00:00:00Z', '15s'];
  const items = shown.map(({ name, namespace: of, cpu, memory }) => {
    const containers = [{ name: 'c', usage: { cpu, memory } }];
    return { metadata: { name, namespace: of }, timestamp, window, containers };
  });
  return [
    200,
    { kind: resource === 'pods' ? 'PodMetricsList' : 'NodeMetricsList', apiVersion: groupVersion, metadata: {}, items },
  ];
}
