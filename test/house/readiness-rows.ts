// The rows of the table in docs/reference/readiness.md, made from the rules of lib/objects/readiness. Printed by
// `node test/house/readiness-rows.ts`.
import { apiKinds } from '../../lib/objects/readiness/api-kinds.ts';
import { argoDataKinds } from '../../lib/objects/readiness/argo-data-kinds.ts';
import { argoKinds } from '../../lib/objects/readiness/argo-kinds.ts';
import type { Demands, KindRow, Rule, Values } from '../../lib/objects/readiness/rule.ts';

type Reasons = Readonly<Record<string, readonly string[]>>;

const code = (text: unknown): string => `\`${String(text)}\``;
const listed = (types: string | undefined): readonly string[] => types?.split(' ').map(code) ?? [];
const oneOf = (values: readonly unknown[]): string => values.map(code).join(' or ');
const fields = (values: Values = {}, prefix = ''): readonly string[] =>
  Object.entries(values).map(([path, some]) => `${code(prefix + path)} is ${oneOf(some)}`);
const reasoned = (reasons: Reasons = {}): readonly string[] =>
  Object.entries(reasons).map(([type, some]) => `${code(type)} has the reason ${oneOf(some)}`);
const held = (types: string | undefined): readonly string[] =>
  types === '*' ? ['every condition is True'] : listed(types).map((type) => `${type} is True if it is there`);

function demandsOf(demands: Demands): readonly string[] {
  const { needs, oneOf: some, holds, waits, ends, reasons, ready, waiting, has, lacks, equal = [] } = demands;
  const { same = [], ratio } = demands;
  return [
    ...[...listed(needs), ...listed(ends)].map((type) => `${type} is True`),
    ...(some === undefined ? [] : [`${listed(some).join(' or ')} is True`]),
    ...held(holds),
    ...listed(waits).map((type) => `${type} is not True`),
    ...reasoned(reasons),
    ...fields(ready),
    ...fields(waiting).map((text) => text.replace(' is ', ' is not ')),
    ...listed(has).map((path) => `${path} is there`),
    ...listed(lacks).map((path) => `there is no ${path}`),
    ...[...equal, ...same].map(([left, right]) => `${code(left)} equals ${code(right)}`),
    ...(ratio === undefined ? [] : [`both numbers of ${code(ratio)} are equal`]),
  ];
}

function readyWhen(rule: Rule): string {
  const { each, idle, quiet, seen } = rule;
  const inEach = each === undefined ? [] : demandsOf(each);
  const parts = [
    ...demandsOf(rule),
    ...inEach.map(
      (text) => `in each of ${code(each!.at)}${each!.some === true ? ', of which there is one,' : ''} ${text}`,
    ),
    ...(seen === undefined ? [] : [`${code(seen)} is the generation`]),
  ];
  const otherwise = [...fields(idle, 'spec.'), ...(quiet === true ? ['it has no status'] : [])];
  return [parts.join('; '), ...otherwise].filter((text) => text !== '').join('; or ');
}

function failedWhen({ ends, fails, failedReasons, failed }: Rule): string {
  return [
    ...listed(fails).map((type) => `${type} is True`),
    ...listed(ends).map((type) => `${type} is False`),
    ...reasoned(failedReasons),
    ...fields(failed),
  ].join('; ');
}

function rowOf([group, kinds, rule]: KindRow, source: string): string {
  const names = kinds === '*' ? 'all kinds' : listed(kinds).join(', ');
  const except = rule.except === undefined ? '' : ` except ${listed(rule.except).join(', ')}`;
  return `| ${names} of ${code(group)}${except} | ${readyWhen(rule)} | ${failedWhen(rule)} | ${source} |`;
}

/** The rows, sorted by group. */
export const readinessRows: readonly string[] = [
  ...[...argoKinds, ...argoDataKinds].map((row) => [row, 'Argo CD'] as const),
  ...apiKinds.map((row) => [row, 'its API'] as const),
]
  .toSorted(([[a]], [[b]]) => (a < b ? -1 : Number(a > b)))
  .map(([row, source]) => rowOf(row, source));

if (import.meta.main) process.stdout.write(`${readinessRows.join('\n')}\n`);
