// The gateway's answers about rights, as a person reads them. Security: all texts come from clusters; control
// characters in them are made visible.
import { objectAt, objectsAt, type JsonObject } from '../../lib/objects/json-object.ts';
import { printable } from '../terminal/failure.ts';
import { printRows } from '../terminal/table.ts';

/** Who has a right: one line for each subject, binding and cluster; '' for nobody. */
export function describeHolders(answer: JsonObject): string {
  return printRows(
    ['cluster', 'subject', 'namespace', 'binding', 'role'],
    withoutTwins(objectsAt(answer, 'items').map((row) => [...whoAndWhere(row), bindingText(row), roleText(row)])),
  );
}

/** Who does not have the right but could act as somebody who has it, for example by impersonation; '' for nobody. */
export function describeOthers(answer: JsonObject): string {
  const lines = objectsAt(answer, 'mayBecome').map((row) => {
    const becomes = objectsAt(row, 'becomes').map(subjectText).join(',');
    return [...whoAndWhere(row), String(row['way'] ?? ''), becomes, bindingText(row)];
  });
  return printRows(['cluster', 'subject', 'namespace', 'could', 'as', 'binding'], withoutTwins(lines));
}

/** What somebody may do: one line for each rule; '' for nothing. */
export function describeRules(answer: JsonObject): string {
  const lines = objectsAt(answer, 'items').map((row) => {
    const rule = objectAt(row['rule']);
    const names = texts(rule['resourceNames']).join(',');
    return [
      String(row['cluster']),
      placeText(row),
      texts(rule['verbs']).join(','),
      whatText(rule),
      names,
      roleText(row),
    ];
  });
  return printRows(['cluster', 'namespace', 'verbs', 'what', 'names', 'role'], withoutTwins(lines));
}

/** One line for each reason why the answer may lack something; '' when it is complete. */
export function describeGaps(answer: JsonObject): string {
  return objectsAt(answer, 'incomplete')
    .map((gap) => printable(`Incomplete: ${gapText(gap)}\n`))
    .join('');
}

function gapText({ cluster, reason, message }: JsonObject): string {
  if (reason === 'GroupsUnknown')
    return "groups of this user were not given, and no cluster knows them: add them by --group (--group '' for none)";
  return cluster === undefined ? String(message) : `${String(cluster)}: ${String(message)}`;
}

/** The groups whose members may do everything without any role, such as system:masters. */
export function unrestrictedGroups(answer: JsonObject): readonly string[] {
  return objectsAt(answer, 'unrestricted').map(({ name }) => printable(String(name)));
}

/** The lines without repetitions: two rules of one role can give the same line. */
function withoutTwins(lines: readonly (readonly string[])[]): readonly (readonly string[])[] {
  return [...new Map(lines.map((line) => [JSON.stringify(line), line])).values()];
}

function whoAndWhere(row: JsonObject): readonly string[] {
  return [String(row['cluster']), subjectText(objectAt(row['subject'])), placeText(row)];
}

function subjectText({ kind, name, namespace }: JsonObject): string {
  return namespace === undefined
    ? `${String(kind)}/${String(name)}`
    : `${String(kind)}/${String(namespace)}/${String(name)}`;
}

/** Where a rule applies: `*` means every namespace and cluster-scoped objects. */
function placeText({ namespace }: JsonObject): string {
  return typeof namespace === 'string' ? namespace : '*';
}

function bindingText(row: JsonObject): string {
  const { kind, name } = objectAt(objectAt(row['via'])['binding']);
  return name === undefined ? '' : `${String(kind)}/${String(name)}`;
}

function roleText(row: JsonObject): string {
  const { kind, name } = objectAt(objectAt(row['via'])['role']);
  return name === undefined ? '' : `${String(kind)}/${String(name)}`;
}

/** The paths of a rule, or each resource with its group, as kubectl names them. */
function whatText(rule: JsonObject): string {
  const groups = texts(rule['apiGroups']);
  const resources = texts(rule['resources']).flatMap((resource) => {
    const [type = '', ...rest] = resource.split('/');
    const tail = rest.map((part) => `/${part}`).join('');
    return groups.map((group) => (group === '' ? resource : `${type}.${group}${tail}`));
  });
  return [...resources, ...texts(rule['nonResourceURLs'])].join(',');
}

function texts(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.map(String) : [];
}
