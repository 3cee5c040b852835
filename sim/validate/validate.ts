// Validation of built-in kinds, for rules that a schema cannot express. Messages have the field paths of
// kube-apiserver's messages, because people search for them.
import type { Resource } from '../store/resources.ts';
import { matchesSelectorObject } from '../store/selectors.ts';
import { invalidField, requiredField, type FieldFault } from '../model/status-error.ts';
import { canonical } from '../store/store.ts';
import { isSchedule } from './cron-schedule.ts';
import type { JsonObject, KubeObject } from '../model/types.ts';

/** Returns the errors of an object of one kind. */
type Rule = (object: KubeObject) => FieldFault[];

const dnsLabel = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;

function podSpecFaults(spec: JsonObject | undefined, path: string): FieldFault[] {
  const faults: FieldFault[] = [];
  const containers: readonly JsonObject[] = spec?.['containers'] ?? [];
  if (containers.length === 0) faults.push(requiredField(`${path}.containers`));
  const seen = new Set<unknown>();
  for (const [list, items] of [
    ['containers', containers],
    ['initContainers', spec?.['initContainers'] ?? []],
  ] as const)
    for (const [i, container] of (items as readonly JsonObject[]).entries()) {
      const at = `${path}.${list}[${i}]`;
      const name: string = container['name'] ?? '';
      if (name === '') faults.push(requiredField(`${at}.name`));
      else if (!dnsLabel.test(name))
        faults.push(
          invalidField(
            `${at}.name`,
            name,
            "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-'",
          ),
        );
      else if (seen.has(name))
        faults.push({
          reason: 'FieldValueDuplicate',
          message: `Duplicate value: ${JSON.stringify(name)}`,
          field: `${at}.name`,
        });
      seen.add(name);
      if ((container['image'] ?? '') === '') faults.push(requiredField(`${at}.image`));
    }
  return faults;
}

const workload: Rule = (object) => {
  const { selector, template } = object['spec'] ?? {};
  const faults = podSpecFaults(template?.spec, 'spec.template.spec');
  if (!matchesSelectorObject(selector, template?.metadata?.labels))
    faults.push(
      invalidField(
        'spec.template.metadata.labels',
        template?.metadata?.labels ?? {},
        '`selector` does not match template `labels`',
      ),
    );
  const replicas: unknown = object['spec']?.replicas;
  if (typeof replicas === 'number' && replicas < 0)
    faults.push(invalidField('spec.replicas', replicas, 'must be greater than or equal to 0'));
  return faults;
};

const service: Rule = (object) => {
  const { type, ports = [], clusterIP } = object['spec'] ?? {};
  if (type !== 'ExternalName' && clusterIP !== 'None' && ports.length === 0) return [requiredField('spec.ports')];
  return [];
};

const configData: Rule = (object) => {
  const faults: FieldFault[] = [];
  for (const key of Object.keys({ ...object['data'], ...object['binaryData'] }))
    if (!/^[-._a-zA-Z0-9]+$/.test(key))
      faults.push(
        invalidField(
          `data[${key}]`,
          key,
          "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or " +
            "'key-name', regex used for validation is '[-._a-zA-Z0-9]+')",
        ),
      );
  const bytes = Object.values({ ...object['data'], ...object['binaryData'] }).reduce(
    (sum: number, value) => sum + String(value).length,
    0,
  );
  const limit = 1024 * 1024;
  if (bytes > limit)
    faults.push({ reason: 'FieldValueTooLong', message: `Too long: may not be more than ${limit} bytes`, field: '' });
  return faults;
};

const cronJob: Rule = (object) => {
  const schedule: string = object['spec']?.schedule ?? '';
  if (schedule === '') return [requiredField('spec.schedule')];
  return isSchedule(schedule) ? [] : [invalidField('spec.schedule', schedule, 'cannot be read as a cron schedule')];
};

const job: Rule = (object) => {
  const spec: JsonObject | undefined = object['spec']?.template?.spec;
  const faults = podSpecFaults(spec, 'spec.template.spec');
  if (!['OnFailure', 'Never'].includes(spec?.['restartPolicy']))
    faults.push(requiredField('spec.template.spec.restartPolicy', 'valid values: "OnFailure", "Never"'));
  return faults;
};

const rules: Readonly<Record<string, Rule>> = {
  '/pods': (object) => podSpecFaults(object['spec'], 'spec'),
  'batch/jobs': job,
  '/services': service,
  '/configmaps': configData,
  '/secrets': configData,
  'apps/deployments': workload,
  'apps/replicasets': workload,
  'apps/statefulsets': workload,
  'apps/daemonsets': workload,
  'batch/cronjobs': cronJob,
};

/** The validation errors of a new or changed object by itself; updateFaults compares it with the stored object. */
export function validate(resource: Resource, object: KubeObject): FieldFault[] {
  return rules[resource.key]?.(object) ?? [];
}

/** The paths of fields that cannot be changed, by storage key. */
const immutable: Readonly<Record<string, readonly string[]>> = {
  'apps/deployments': ['spec.selector'],
  'apps/replicasets': ['spec.selector'],
  'apps/daemonsets': ['spec.selector'],
  'apps/statefulsets': ['spec.selector'],
  'batch/jobs': ['spec.selector', 'spec.completions', 'spec.template'],
  '/services': ['spec.clusterIP'],
  '/secrets': ['type'],
  'rbac.authorization.k8s.io/rolebindings': ['roleRef'],
  'rbac.authorization.k8s.io/clusterrolebindings': ['roleRef'],
};

/**
 * The value of a field that cannot be changed. A Service of type ExternalName has no cluster IP, so its value is
 * undefined.
 */
function fixedValue(object: KubeObject, path: string): unknown {
  if (path === 'spec.clusterIP' && object['spec']?.type === 'ExternalName') return undefined;
  return path.split('.').reduce((at: any, step) => at?.[step], object);
}

const podMessage =
  'pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,' +
  '`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),' +
  '`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)';

/** A pod spec as text, without the fields that may be changed. */
function fixedPodSpec(pod: KubeObject): string {
  const {
    activeDeadlineSeconds: _a,
    tolerations: _t,
    terminationGracePeriodSeconds: _g,
    nodeName: _n,
    schedulingGates: _s,
    ...spec
  } = pod['spec'] ?? {};
  const { ephemeralContainers: _e, ...rest } = spec;
  const bare = (list: readonly JsonObject[] | undefined): unknown =>
    list?.map(({ image: _image, resources: _resources, ...container }) => container);
  return canonical({ ...rest, containers: bare(rest.containers), initContainers: bare(rest.initContainers) });
}

/** The errors for fields that differ between `current` and `next` although they cannot be changed. */
export function updateFaults(resource: Resource, current: KubeObject, next: KubeObject): FieldFault[] {
  const faults: FieldFault[] = [];
  if (resource.key === '/pods' && fixedPodSpec(current) !== fixedPodSpec(next))
    faults.push({ reason: 'FieldValueForbidden', message: `Forbidden: ${podMessage}`, field: 'spec' });
  if ((resource.key === '/configmaps' || resource.key === '/secrets') && current['immutable'] === true) {
    const content = (object: KubeObject): string =>
      canonical([object['data'], object['binaryData'], object['immutable']]);
    if (content(current) !== content(next))
      faults.push({
        reason: 'FieldValueForbidden',
        message: 'Forbidden: field is immutable when `immutable` is set',
        field: 'data',
      });
  }
  for (const field of immutable[resource.key] ?? []) {
    const [before, after = null] = [fixedValue(current, field), fixedValue(next, field)];
    if (before !== undefined && canonical(before) !== canonical(after))
      faults.push(invalidField(field, after, 'field is immutable'));
  }
  return faults;
}
