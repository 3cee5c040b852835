// The objects of a plausible workload: Deployment, StatefulSet or DaemonSet with its Service and ConfigMap. A label
// that changes with a rollout must not be in the selector.
import type { JsonObject } from '../types.ts';
import type { AppTemplate } from './workload-catalog.ts';

/** Marks what `liveWorkloads` may change: objects made by people are left alone. */
export const liveLabel = 'simulation.portcullis.io/live';

/** Labels of a workload, without the version: that one is on pods only, where it may change. */
export function labelsOf(app: AppTemplate, team: string): Readonly<Record<string, string>> {
  return { app: app.name, tier: app.tier, team, 'app.kubernetes.io/name': app.name };
}

/** Its Service: headless for a StatefulSet. */
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

/** The workload itself, at a version. */
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

/** A version as a label value. */
export function versionLabel(version: string): string {
  return version.replaceAll(/[^A-Za-z0-9._-]/g, '-').slice(0, 63);
}
