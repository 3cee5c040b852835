// Tests whether a setting applies to a cluster. The setting names its clusters, or selects them by a label selector.
import type { ClusterSpec } from '../../model/records.ts';
import type { LabelRequirement } from '../../query/list-query.ts';
import { parseLabelSelector } from '../../query/selectors/label-selector.ts';

/**
 * Makes the function that tests whether a setting applies to a cluster.
 * @param clusters names separated by commas, or a label selector; undefined and '' mean all clusters
 * @throws GatewayError BAD_REQUEST for a selector that cannot be read
 */
export function clusterTest(clusters: string | undefined): (cluster: Pick<ClusterSpec, 'name' | 'labels'>) => boolean {
  if (clusters === undefined || clusters.trim() === '') return () => true;
  if (/[=!()<>]/.test(clusters)) {
    const requirements = parseLabelSelector(clusters);
    return ({ labels }) => requirements.every((requirement) => holds(requirement, labels));
  }
  const names = new Set(clusters.split(',').map((name) => name.trim()));
  return ({ name }) => names.has(name);
}

/** Evaluates one requirement of a label selector, as apimachinery's labels.Requirement.Matches does. */
function holds({ key, operator, values }: LabelRequirement, labels: Readonly<Record<string, string>>): boolean {
  const value = Object.hasOwn(labels, key) ? labels[key] : undefined;
  if (operator === 'Exists') return value !== undefined;
  if (operator === 'DoesNotExist') return value === undefined;
  if (operator === 'In') return value !== undefined && values.includes(value);
  if (operator === 'NotIn') return value === undefined || !values.includes(value);
  if (value === undefined || !/^[+-]?\d+$/.test(value)) return false;
  const [one, other] = [BigInt(value.replace('+', '')), BigInt(values[0]!.replace('+', ''))];
  return operator === 'Gt' ? one > other : one < other;
}
