// The TARGETS cell of a horizontal pod autoscaler (autoscaling/v2). Easy to get wrong: the n-th status belongs to the
// n-th metric only when it is of the same kind, and what the n-th status does not say is `<unknown>`.
import { shortList } from '../cells.ts';

interface Target {
  readonly averageValue?: string;
  readonly averageUtilization?: number;
  readonly value?: string;
}

interface Metric {
  readonly name?: string;
  readonly target?: Target;
}

type MetricKind = 'resource' | 'containerResource' | 'pods' | 'object' | 'external';

/** autoscaling/v2 MetricSpec. */
export type MetricSpec = { readonly type?: string } & { readonly [Kind in MetricKind]?: Metric };
/** autoscaling/v2 MetricStatus. */
export type MetricStatus = { readonly type?: string } & {
  readonly [Kind in MetricKind]?: { readonly current?: Target };
};

const kinds: Readonly<Record<string, MetricKind>> = {
  Resource: 'resource',
  ContainerResource: 'containerResource',
  Pods: 'pods',
  Object: 'object',
  External: 'external',
};

export function metricsCell(specs: readonly MetricSpec[], statuses: readonly MetricStatus[]): string {
  if (specs.length === 0) return '<none>';
  return shortList(
    specs.map((spec, i) => metricText(spec, statuses[i])),
    2,
    ', ',
  );
}

function metricText(spec: MetricSpec, status: MetricStatus | undefined): string {
  const kind = kinds[spec.type ?? ''];
  if (kind === undefined) return '<unknown type>';
  const { name, target = {} } = spec[kind] ?? {};
  const reported = status?.[kind];
  const current = reported?.current;
  if (kind === 'resource' || kind === 'containerResource') {
    // A status of this kind without the value prints a zero quantity, as Go does.
    if (target.averageValue !== undefined)
      return `${name}: ${reported === undefined ? '<unknown>' : (current?.averageValue ?? '<nil>')}/${target.averageValue}`;
    const now = current?.averageUtilization;
    const wanted = target.averageUtilization;
    return `${name}: ${now === undefined ? '<unknown>' : `${now}%`}/${wanted === undefined ? '<auto>' : `${wanted}%`}`;
  }
  if (kind === 'pods')
    return `${reported === undefined ? '<unknown>' : (current?.averageValue ?? '<nil>')}/${target.averageValue}`;
  if (target.averageValue !== undefined) return `${current?.averageValue ?? '<unknown>'}/${target.averageValue} (avg)`;
  return `${reported === undefined ? '<unknown>' : (current?.value ?? '<nil>')}/${target.value}`;
}
