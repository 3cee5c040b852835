// What is done in cases of works: steps on a cluster or on the hub, and manifests of many kinds.
import type { Member } from '../controlplane/fixture.ts';
import {
  configFor,
  configMap,
  configMapPath,
  eventually,
  manifestWork,
  patch,
  put,
  read,
  remove,
  workPath,
  type Json,
} from '../e2e/distribute/works-site.ts';
import type { Side } from './work-picture.ts';
import { accountSubject, clusterRole, roleBinding as boundRole } from '../site/rbac.ts';
import { customResource } from '../site/custom-resource.ts';

export interface Step {
  /** Acts on one of the clusters, or on the work of its name on the hub. */
  readonly act: (side: Side) => Promise<unknown>;
  /** What is done, for the message of a failure. */
  readonly says?: string;
  /** A text that both pictures show afterwards, where no generation of a work tells that the step has its effect. */
  readonly shows?: string;
  /** The agent notices the step only when it applies all works again after minutes, so there is nothing to compare. */
  readonly isNoticedLate?: true;
}

export function work(
  name: string,
  manifests: readonly object[],
  spec: object = {},
  { labels = {}, ...expected }: Partial<Omit<Step, 'act'>> & { readonly labels?: object } = {},
): Step {
  const act = ({ hub, member }: Side): Promise<unknown> =>
    put(hub, manifestWork(name, manifests, spec, { labels, namespace: member.name }));
  return { act, ...expected };
}

/** Deletes the work; it is gone on both sides before the next step. */
export function without(name: string): Step {
  return { act: ({ hub, member }) => remove(hub, workPath(name, member.name)), shows: `"${name}":"none"` };
}

/** Somebody makes objects in the cluster. */
export function has(...objects: readonly object[]): Step {
  return { act: ({ member }) => member.apply(...objects) };
}

/** Somebody changes an object in the cluster. */
export function merged(path: string, body: object, shows: string): Step {
  return { act: ({ member }) => patch(member, path, body), shows };
}

export const maps = (...names: readonly string[]): string[] => names.map((name) => configMapPath(name));

export const kinds = {
  deployment: { group: 'apps', resource: 'deployments' },
  daemonSet: { group: 'apps', resource: 'daemonsets' },
  job: { group: 'batch', resource: 'jobs' },
  pod: { group: '', resource: 'pods' },
  account: { group: '', resource: 'serviceaccounts' },
} as const;
export const inNs1 = (path: string): string => path.replace('/ns1/', '/namespaces/ns1/');
export const deploymentPath = (name: string): string => inNs1(`/apis/apps/v1/ns1/deployments/${name}`);
export const configs = (...manifestConfigs: readonly object[]): object => ({ manifestConfigs });
export const strategy = (type: string, serverSideApply?: object): object => ({
  updateStrategy: { type, ...(serverSideApply && { serverSideApply }) },
});
export const serverSide = (name: string, options: object = {}): object =>
  configs(configFor(name, strategy('ServerSideApply', options), kinds.deployment));

export const containers = [{ name: 'c', image: 'busybox', env: [{ name: 'A', value: '1' }] }];
export function deployment(name: string, spec: object = { replicas: 2 }): object {
  const template = { metadata: { labels: { app: name } }, spec: { containers } };
  const selector = { matchLabels: { app: name } };
  const metadata = { name, namespace: 'ns1' };
  return { apiVersion: 'apps/v1', kind: 'Deployment', metadata, spec: { selector, template, ...spec } };
}
export const metadata = (name: string): object => ({ name, namespace: 'ns1' });
export const job = (name: string): object => ({
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: metadata(name),
  spec: { template: { spec: { containers, restartPolicy: 'Never' } } },
});
export const role = (rules: readonly object[]): object => clusterRole('peer-role', rules);
export const roleBinding = (name: string): object =>
  boundRole('ns1', 'bound', `ClusterRole/${name}`, accountSubject('ns1', 'someone'));
export const service = (port: number): object => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: metadata('svc'),
  spec: { selector: { app: 'x' }, ports: [{ name: 'http', port, targetPort: 8080 }] },
});
export const secret = (value: string): object => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: metadata('sec'),
  stringData: { a: value },
});
export const widgets = (): object => customResource('widgets.example.com', 'Widget');
export const widget = (spec: object): object => ({
  apiVersion: 'example.com/v1',
  kind: 'Widget',
  metadata: metadata('w1'),
  spec,
});

/** A controller writes the status of an object. */
export function status(path: string, body: object, shows: string): Step {
  const act = async ({ member }: Side): Promise<void> => {
    const found = (await read(member, path)) as Json;
    const answer = await member.request('PUT', `${path}/status`, { ...found, status: body });
    if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${answer.body}`);
  };
  return { act, shows };
}

/** Somebody takes fields of an object by server-side apply under a manager of their own. */
export function taken(path: string, fieldManager: string, body: object, shows: string): Step {
  const act = async ({ member }: Side): Promise<void> => {
    const { apiVersion, kind } = (await read(member, path)) as Json;
    const object = { apiVersion, kind, metadata: { name: path.split('/').at(-1) }, ...body };
    const type = { 'content-type': 'application/apply-patch+yaml' };
    const answer = await member.request('PATCH', `${path}?fieldManager=${fieldManager}&force=true`, object, type);
    if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${answer.body}`);
  };
  return { act, shows };
}

/** A policy of a cluster that refuses to delete objects whose names begin so. */
export interface Refusal {
  /** What the cluster says. */
  readonly message: string;
  begin(member: Member): Promise<void>;
  end(member: Member): Promise<void>;
}

export function refusal(prefix: string): Refusal {
  const admission = '/apis/admissionregistration.k8s.io/v1';
  const apiVersion = 'admissionregistration.k8s.io/v1';
  const [name, message] = ['keeps', `objects of ${prefix} are kept`];
  const matchConstraints = {
    resourceRules: [{ apiGroups: ['*'], apiVersions: ['*'], operations: ['DELETE'], resources: ['*'] }],
  };
  const validations = [{ expression: `!oldObject.metadata.name.startsWith('${prefix}')`, message }];
  const probe = configMapPath(`${prefix}probe`);
  return {
    message,
    async begin(member) {
      await member.apply(
        { apiVersion, kind: 'ValidatingAdmissionPolicy', metadata: { name }, spec: { matchConstraints, validations } },
        {
          apiVersion,
          kind: 'ValidatingAdmissionPolicyBinding',
          metadata: { name },
          spec: { policyName: name, validationActions: ['Deny'] },
        },
        configMap(`${prefix}probe`),
      );
      await eventually('deletions are refused', async () => {
        const { status } = await member.request('DELETE', `${probe}?dryRun=All`);
        return status >= 400;
      });
    },
    async end(member) {
      for (const resource of ['validatingadmissionpolicybindings', 'validatingadmissionpolicies'])
        await remove(member, `${admission}/${resource}/${name}`);
      await eventually('deletions are allowed', async () => (await member.request('DELETE', probe)).status === 200);
    },
  };
}
