// Finds the rule by which the objects of a kind are judged.
import { apiKinds } from './api-kinds.ts';
import { argoDataKinds } from './argo-data-kinds.ts';
import { argoKinds } from './argo-kinds.ts';
import type { KindRow, Rule } from './rule.ts';

const rows: readonly KindRow[] = [...argoKinds, ...argoDataKinds, ...apiKinds];
/**
 * Rules by kind and group, such as `Certificate.cert-manager.io`; the key `*.example.com` is for all kinds of the
 * group.
 */
const exact = new Map(
  rows.flatMap(([group, kinds, rule]) => kinds.split(' ').map((kind): [string, Rule] => [`${kind}.${group}`, rule])),
);
/** Rules for all groups with a common suffix, such as `.example.com`. */
const ends = rows.filter(([group]) => group.startsWith('*')).map(([group, , rule]) => [group.slice(1), rule] as const);

/** The rule for a kind with its group, as `Certificate.cert-manager.io`; undefined when it has none. */
export function ruleOf(groupKind: string): Rule | undefined {
  const dot = groupKind.indexOf('.');
  if (dot < 0) return undefined;
  const [kind, group] = [groupKind.slice(0, dot), groupKind.slice(dot + 1)];
  const rule = exact.get(groupKind) ?? exact.get(`*.${group}`) ?? ends.find(([end]) => group.endsWith(end))?.[1];
  return rule?.except?.split(' ').includes(kind) === true ? undefined : rule;
}
