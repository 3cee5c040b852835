// The TARGETS cell of a HorizontalPodAutoscaler (autoscaling/v2). The status at position n of the list belongs to the
// metric at position n only if both have the same type. A metric without a status shows `<unknown>` as its value.
import { shortList } from './cells.ts';

interface Target {
  readonly averageValue?: string;
  readonly averageUtilization?: number;
  readonly value?: string;
}

interface Reported {
  readonly current?: Target;
}

interface Metric {
  readonly name?: string;
  readonly target?: Target;
}

type MetricKind = 'resource' | 'containerResource' | 'pods' | 'object' | 'external';

/** The same as autoscaling/v2 MetricSpec. */
export type MetricSpec = { readonly type?: string } & { readonly [Kind in MetricKind]?: Metric };
/** The same as autoscaling/v2 MetricStatus. */
export type MetricStatus = { readonly type?: string } & {
  readonly [Kind in MetricKind]?: Reported;
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
  const metric = spec[kind] ?? {};
  const reported = status?.[kind];
  if (kind === 'resource' || kind === 'containerResource') return resourceText(metric, reported);
  const { target = {} } = metric;
  if (kind === 'pods') return `${currentText(reported, 'averageValue')}/${target.averageValue}`;
  if (target.averageValue === undefined) return `${currentText(reported, 'value')}/${target.value}`;
  return `${reported?.current?.averageValue ?? '<unknown>'}/${target.averageValue} (avg)`;
}

function resourceText({ name, target = {} }: Metric, reported: Reported | undefined): string {
  if (target.averageValue !== undefined)
    return `${name}: ${currentText(reported, 'averageValue')}/${target.averageValue}`;
  const now = reported?.current?.averageUtilization;
  const wanted = target.averageUtilization;
  return `${name}: ${now === undefined ? '<unknown>' : `${now}%`}/${wanted === undefined ? '<auto>' : `${wanted}%`}`;
}

/**
 * Returns the reported value as text. When the status lacks the value, the text is `<nil>`, because Go prints a nil
 * quantity so.
 */
function currentText(reported: Reported | undefined, field: 'averageValue' | 'value'): string {
  return reported === undefined ? '<unknown>' : (reported.current?.[field] ?? '<nil>');
}
