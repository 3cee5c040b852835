// Makes the objects of a workload: a Deployment, StatefulSet or DaemonSet, with its Service and ConfigMap. The label
// `version` must not be in the selector, because its value changes with each rollout.
import type { JsonObject } from '../model/types.ts';
import type { AppTemplate } from './workload-catalog.ts';

/** The label on workloads that `liveWorkloads` may change. Objects that users create do not have this label. */
export const liveLabel = 'simulation.portcullis.io/live';

/** The labels of a workload. They do not contain `version`, a label that only pods have. */
export function labelsOf(app: AppTemplate, team: string): Readonly<Record<string, string>> {
  return { app: app.name, tier: app.tier, team, 'app.kubernetes.io/name': app.name };
}

/** The Service of a workload. For a StatefulSet it is headless. */
export function serviceOf(app: AppTemplate, metadata: JsonObject): JsonObject {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata,
    spec: {
      selector: { app: app.name },
      ports: [{ name: app.tier === 'data' ? 'tcp' : 'http', port: app.port, targetPort: app.port, protocol: 'TCP' }],
      ...(app.kind === 'StatefulSet' ? { clusterIP: 'None' } : {}),
    },
  };
}

/** The Deployment, StatefulSet or DaemonSet, with the given version of its image. */
export function workloadOf(
  app: AppTemplate,
  team: string,
  version: string,
  replicas: number,
  metadata: JsonObject,
): JsonObject {
  const labels = labelsOf(app, team);
  const template = {
    metadata: { labels: { ...labels, version: versionLabel(version) } },
    spec: {
      containers: [
        {
          name: app.name,
          image: `${app.image}:${version}`,
          ports: [{ containerPort: app.port, protocol: 'TCP' }],
          env: [
            { name: 'TEAM', value: team },
            { name: 'VERSION', value: version },
          ],
          envFrom: [{ configMapRef: { name: `${app.name}-config` } }],
          resources: { requests: { cpu: '50m', memory: '64Mi' }, limits: { memory: '512Mi' } },
        },
      ],
    },
  };
  return {
    apiVersion: 'apps/v1',
    kind: app.kind,
    metadata,
    spec: {
      selector: { matchLabels: { app: app.name } },
      template,
      ...(app.kind === 'DaemonSet' ? {} : { replicas }),
      ...(app.kind === 'StatefulSet' ? { serviceName: app.name } : {}),
    },
  };
}

/** Turns a version into a valid label value. */
export function versionLabel(version: string): string {
  return version.replaceAll(/[^A-Za-z0-9._-]/g, '-').slice(0, 63);
}
