// Texts that cells of several types use: containers, labels, selectors, shortened lists. Labels are sorted by key, as
// in kube-apiserver's printers, because their order in the object has no meaning.
import type { Cells, KubeObject } from './printer.ts';

interface Container {
  readonly name?: string;
  readonly image?: string;
}

/** The fields of a workload's `spec.template` (a PodTemplateSpec) that cells are made from. */
export interface PodTemplate {
  readonly metadata?: { readonly labels?: Readonly<Record<string, string>> };
  readonly spec?: {
    readonly containers?: readonly Container[];
    readonly nodeSelector?: Readonly<Record<string, string>>;
  };
}

export interface LabelSelector {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly {
    readonly key: string;
    readonly operator: string;
    readonly values?: readonly string[];
  }[];
}

/** The cells of the columns Containers and Images, which several workload types have. */
export function templateCells<T>(templateOf: (object: T) => PodTemplate | undefined): Cells<T> {
  const texts = (object: T, field: 'name' | 'image'): string =>
    (templateOf(object)?.spec?.containers ?? []).map((container) => container[field] ?? '').join(',');
  return { Containers: (object) => texts(object, 'name'), Images: (object) => texts(object, 'image') };
}

/**
 * The name of a StorageClass or similar object, followed by ` (default)` when one of its annotations
 * `<prefix>/is-default-class` is `true`.
 */
export function markedName({ metadata }: KubeObject, prefixes: readonly string[]): string {
  const isDefault = prefixes.some((prefix) => metadata?.annotations?.[`${prefix}/is-default-class`] === 'true');
  return `${metadata?.name ?? ''}${isDefault ? ' (default)' : ''}`;
}

/** Labels as text, such as `a=1,b=2`; `<none>` when there are none (apimachinery labels.FormatLabels). */
export function labelsText(labels: Readonly<Record<string, string>> | undefined): string {
  return (
    sortedEntries(labels)
      .map(([key, value]) => `${key}=${value}`)
      .join(',') || '<none>'
  );
}

export function sortedEntries<Value>(record: Readonly<Record<string, Value>> | undefined): readonly [string, Value][] {
  return Object.entries(record ?? {}).sort(([one], [other]) => (one < other ? -1 : one > other ? 1 : 0));
}

/** A LabelSelector as text, such as `app=web`; '' for an empty selector (metav1.LabelSelectorAsSelector). */
export function selectorText(selector: LabelSelector | undefined): string {
  const equals = sortedEntries(selector?.matchLabels).map(([key, value]) => ({ key, text: `${key}=${value}` }));
  const others = (selector?.matchExpressions ?? []).map(({ key, operator, values = [] }) => {
    if (operator === 'Exists') return { key, text: key };
    if (operator === 'DoesNotExist') return { key, text: `!${key}` };
    return { key, text: `${key} ${operator === 'In' ? 'in' : 'notin'} (${values.toSorted().join(',')})` };
  });
  const sorted = [...equals, ...others].sort(({ key: one }, { key: other }) =>
    one < other ? -1 : one > other ? 1 : 0,
  );
  return sorted.map(({ text }) => text).join(',');
}

/** A LabelSelector as text, such as `app=web`; `<none>` for an empty selector (metav1.FormatLabelSelector). */
export function selectorCell(selector: LabelSelector | undefined): string {
  return selectorText(selector) || '<none>';
}

/** The first `most` items, and the number of items that were left out: `a,b,c + 2 more...`. */
export function shortList(items: readonly string[], most: number, separator = ','): string {
  const shown = items.slice(0, most).join(separator);
  return items.length > most ? `${shown} + ${items.length - most} more...` : shown;
}

/** The text for a boolean field: `True` or `False`, `<unset>` when the field is missing. */
export function flagText(value: boolean | null | undefined): string {
  return value === undefined || value === null ? '<unset>' : value ? 'True' : 'False';
}
