// Reads from PromQL which metrics and labels an expression names. Enough for the chart's dashboards and alerts;
// promtool checks their grammar.

/** One metric in an expression, with the labels that its selector names. */
export interface NamedMetric {
  readonly metric: string;
  readonly labels: readonly string[];
}

/** What an expression names. */
export interface NamedInExpression {
  readonly metrics: readonly NamedMetric[];
  /** Labels of `by`, `without`, `on`, `ignoring`, `group_left` and `group_right`. */
  readonly groups: readonly string[];
}

const words: ReadonlySet<string> = new Set(['and', 'or', 'unless', 'bool', 'offset', 'inf', 'nan']);

/** The metrics and labels that an expression names, also Grafana's `label_values(metric, label)`. */
export function namedIn(expression: string): NamedInExpression {
  const values = /^label_values\(([^,]+),\s*(\w+)\)$/.exec(expression);
  if (values !== null) return { ...namedIn(values[1]!), groups: [values[2]!] };
  const groups: string[] = [];
  const rest = expression
    .replaceAll(/"(?:[^"\\]|\\.)*"/g, '""')
    .replaceAll(/\[[^\]]*\]/g, '')
    .replaceAll(/\b(?:by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)/g, (_, list: string) => {
      groups.push(...list.split(',').map((label) => label.trim()));
      return ' ';
    });
  const found = rest.matchAll(/(?<![\w.])([a-zA-Z_:][\w:]*)\s*(\{[^}]*\}|\(|)/g);
  const metrics = Array.from(found)
    .filter(([, name, after]) => after !== '(' && !words.has(name!.toLowerCase()))
    .map(([, metric, selector]) => ({
      metric: metric!,
      labels: Array.from(selector!.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g), ([, label]) => label!),
    }));
  return { metrics, groups: groups.filter((label) => label !== '') };
}
