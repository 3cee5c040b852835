// Answers who may do something in which cluster, and what somebody may do, from the copied RBAC of all clusters.
import { memberView } from '../../../auth/rules/impersonation.ts';
import { mastersGroup } from '../../../auth/callers/reserved.ts';
import { makeUser } from '../../../cache/model/user.ts';
import type { User } from '../../../cache/model/user.ts';
import type { AccessAnswer, AccessGap, ClusterAccess } from '../../rights/access/cluster-access.ts';
import { mayBecome } from '../../rights/access/may-become.ts';
import { isBindingReadable, subjectOf, whatCan, whoCan } from '../../rights/access/who-can.ts';
import type { Finding, KnownRbac } from '../../rights/access/who-can.ts';
import type { PolicyRule } from '../../rights/rbac.ts';
import type { RbacView } from '../../rights/rbac-view.ts';
import type { AnswerDependencies } from '../answer-dependencies.ts';
import { searchVersion } from '../catalog.ts';
import { mostReadings, restlessRights } from '../current-rights.ts';
import type { WhatCanQuestion, WhoCanQuestion } from '../question.ts';
import type { Planned } from '../state.ts';

/**
 * The most rows of an answer, checked after each cluster. The cluster that exceeds the limit is still shown, and is
 * named as incomplete, as are all clusters after it.
 */
const mostRows = 50_000;
/** After each such number of clusters, the event loop is given to other requests. */
const clustersInOneTurn = 16;

/** `system:masters` is not in the rows: kube-apiserver lets this group do everything before it asks RBAC. */
const unrestricted = [{ kind: 'Group', name: mastersGroup }];

/** An entry of `incomplete` that is not about a single cluster. */
const groupsUnknown = {
  reason: 'GroupsUnknown',
  message:
    'groups of this user were not given, and no cluster knows them: add them (groups=), or give none (an empty groups=)',
};

/**
 * The right to ask a cluster for one's own rules (SelfSubjectRulesReview). By default every user and ServiceAccount has
 * it, because Kubernetes binds it to system:authenticated.
 */
const aboutMyself = {
  verb: 'create',
  group: 'authorization.k8s.io',
  resource: 'selfsubjectrulesreviews',
  subresource: '',
  name: '',
  namespace: '',
};

/** Answers `indexes/whocan`. Rejects with INDEX_UNAVAILABLE when the caller's rights keep changing. */
export async function fetchWhoCan(
  { request, question }: Planned<WhoCanQuestion>,
  dependencies: AnswerDependencies,
): Promise<object> {
  const { access, clusters } = question;
  const rows = new Rows();
  const others = new Rows();
  const incomplete = await inEachCluster(request.user, clusters, dependencies, {
    begin: () => [rows, others].forEach((each) => each.clear()),
    read: ({ cluster, known }) => {
      for (const each of known) {
        const found = [...whoCan(each, access)];
        rows.add(found.flatMap((finding) => rowsOf(cluster, finding)));
        if (!question.mayBecome) continue;
        for (const { way, becomes, ...finding } of mayBecome(each, access, found))
          others.add(rowsOf(cluster, finding).map((row) => ({ ...row, way, becomes })));
      }
      return rows.isFull || others.isFull;
    },
  });
  const more = question.mayBecome ? { mayBecome: others.items } : {};
  return {
    kind: 'WhoCan',
    apiVersion: searchVersion,
    question: access,
    items: rows.items,
    ...more,
    unrestricted,
    incomplete,
  };
}

/**
 * Answers `indexes/whatcan`. Rejects as {@link fetchWhoCan}, and with IDENTITY_REFUSED for a name that nobody can
 * have.
 */
export async function fetchWhatCan(
  { request, question }: Planned<WhatCanQuestion>,
  dependencies: AnswerDependencies,
): Promise<object> {
  const { subject, clusters } = question;
  const named = subject && memberView(makeUser(subject));
  const rows = new Rows();
  const unrestrictedIn = new Set<string>();
  const incomplete = await inEachCluster(request.user, clusters, dependencies, {
    begin: () => {
      rows.clear();
      unrestrictedIn.clear();
    },
    read: ({ cluster, known, identity }) => {
      if ((named ?? identity)?.groups.includes(mastersGroup) === true) unrestrictedIn.add(cluster);
      for (const each of known) {
        if (named !== undefined) rows.add([...whatCan(each, named)].flatMap((finding) => rowsOf(cluster, finding)));
        else if (identity !== undefined) rows.add(ownRows(cluster, each, identity));
      }
      return rows.isFull;
    },
  });
  const { name, groups } = named ?? request.user;
  const gaps = question.hasUnknownGroups ? [groupsUnknown, ...incomplete] : incomplete;
  const answered = { items: rows.items, unrestrictedIn: [...unrestrictedIn], incomplete: gaps };
  return { kind: 'WhatCan', apiVersion: searchVersion, user: name, groups, ...answered };
}

interface Reading {
  /** Called before the first cluster, and again when the reading starts over. */
  readonly begin: () => void;
  /** Reads one cluster. Returns true when no further cluster can be read. */
  readonly read: (access: ClusterAccess) => boolean;
}

/**
 * Reads each cluster that the caller may reach. Security: RBAC may change while it is read, and with it the caller's
 * own rights. So these rights are read again afterwards, and everything starts over when they have changed.
 * @returns what the answer may lack, by cluster
 */
async function inEachCluster(
  user: User,
  clusters: readonly string[] | undefined,
  { rights }: AnswerDependencies,
  { begin, read }: Reading,
): Promise<readonly AccessGap[]> {
  let access = await rights.access(user, clusters);
  for (let reading = 1; reading <= mostReadings; reading += 1) {
    begin();
    const gaps = await readAll(access, read);
    const after = await rights.access(user, clusters);
    if (after.digest === access.digest) return gaps;
    access = after;
  }
  throw restlessRights();
}

async function readAll({ clusters }: AccessAnswer, read: Reading['read']): Promise<readonly AccessGap[]> {
  const gaps: AccessGap[] = [];
  let isFull = false;
  for (const [index, each] of clusters.entries()) {
    if (index > 0 && index % clustersInOneTurn === 0) await new Promise((resolve) => void setImmediate(resolve));
    gaps.push(...each.gaps);
    isFull ||= read(each);
    const message = `there are more than ${mostRows} rows; ask for fewer clusters`;
    if (isFull) gaps.push({ cluster: each.cluster, reason: 'TooManyRows', message });
  }
  return gaps;
}

class Rows {
  items: object[] = [];

  get isFull(): boolean {
    return this.items.length > mostRows;
  }

  clear(): void {
    this.items = [];
  }

  add(rows: readonly object[]): void {
    for (const row of rows) this.items.push(row);
  }
}

/** One row for each subject that has a rule by a binding. */
function rowsOf(cluster: string, { subjects, binding, rule }: Finding): readonly object[] {
  const { namespace, name, role } = binding;
  const via = {
    binding: { kind: namespace === '' ? 'ClusterRoleBinding' : 'RoleBinding', ...placed(namespace), name },
    role: { kind: role.kind, ...placed(role.namespace), name: role.name },
  };
  return subjects.map((key) => ({
    cluster,
    subject: subjectOf(key),
    ...placed(namespace),
    rule: shownRule(rule),
    via,
  }));
}

/**
 * The caller's own rules, which the cluster would tell the caller, too (SelfSubjectRulesReview). Security: the binding
 * that gives a rule is named only when the caller may read that binding.
 */
function ownRows(cluster: string, known: KnownRbac & { readonly view: RbacView }, identity: User): readonly object[] {
  const { view, isReadable, isNamespaced } = known;
  const all = { view, isReadable: () => true, isNamespaced };
  const findings = [...whatCan(all, identity)];
  const may = [...whoCan(all, aboutMyself)].some(({ binding }) => findings.some((each) => each.binding === binding));
  return findings.flatMap((finding) => {
    if (isBindingReadable(isReadable, finding.binding)) return rowsOf(cluster, finding);
    return may ? [{ cluster, ...placed(finding.binding.namespace), rule: shownRule(finding.rule) }] : [];
  });
}

function placed(namespace: string): { readonly namespace?: string } {
  return namespace === '' ? {} : { namespace };
}

/** A rule as RBAC objects have it, without lists that are empty. */
function shownRule(rule: PolicyRule): object {
  return Object.fromEntries(Object.entries(rule).filter(([, items]) => items.length > 0));
}
