// Texts that cells of several types share: containers, labels, selectors, shortened lists. Labels are sorted by key, as
// Go's printers do, whatever order the object has them in.
import type { Cells, KubeObject } from './printer.ts';

interface Container {
  readonly name?: string;
  readonly image?: string;
}

/** `spec.template` of a workload. */
export interface PodTemplate {
  readonly metadata?: { readonly labels?: Readonly<Record<string, string>> };
  readonly spec?: {
    readonly containers?: readonly Container[];
    readonly nodeSelector?: Readonly<Record<string, string>>;
  };
}

/** meta.k8s.io/v1 LabelSelector. */
export interface LabelSelector {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly {
    readonly key: string;
    readonly operator: string;
    readonly values?: readonly string[];
  }[];
}

/** The two columns of a pod template's containers. */
export function templateCells<T>(templateOf: (object: T) => PodTemplate | undefined): Cells<T> {
  const texts = (object: T, field: 'name' | 'image'): string =>
    (templateOf(object)?.spec?.containers ?? []).map((container) => container[field] ?? '').join(',');
  return { Containers: (object) => texts(object, 'name'), Images: (object) => texts(object, 'image') };
}

/** The name of a class, marked as the default one by an annotation `<prefix>/is-default-class`. */
export function markedName({ metadata }: KubeObject, prefixes: readonly string[]): string {
  const isDefault = prefixes.some((prefix) => metadata?.annotations?.[`${prefix}/is-default-class`] === 'true');
  return `${metadata?.name ?? ''}${isDefault ? ' (default)' : ''}`;
}

/** `a=1,b=2`, `<none>` for no labels (labels.FormatLabels). */
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

/** A selector as text, '' for an empty one (metav1.LabelSelectorAsSelector). */
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

/** The same with `<none>` for an empty one (metav1.FormatLabelSelector). */
export function selectorCell(selector: LabelSelector | undefined): string {
  return selectorText(selector) || '<none>';
}

/** The first `most` of a list: `a,b,c + 2 more...`. */
export function shortList(items: readonly string[], most: number, separator = ','): string {
  const shown = items.slice(0, most).join(separator);
  return items.length > most ? `${shown} + ${items.length - most} more...` : shown;
}

/** A flag that may be missing. */
export function flagText(value: boolean | null | undefined): string {
  return value === undefined || value === null ? '<unset>' : value ? 'True' : 'False';
}
