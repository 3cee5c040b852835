// Answers who may do something in which cluster, and what somebody may do, from the copied RBAC of all clusters.
import { memberView } from '../../../auth/rules/impersonation.ts';
import { mastersGroup } from '../../../auth/callers/reserved.ts';
import { makeUser } from '../../../model/user.ts';
import type { User } from '../../../model/user.ts';
import type { AccessAnswer, AccessGap, ClusterAccess } from '../../../rights/cluster-access.ts';
import { mayBecome } from '../../../rights/access/may-become.ts';
import { isAllowed, isBindingReadable, subjectOf, whatCan, whoCan } from '../../../rights/access/who-can.ts';
import type { AskedClusters, Finding, KnownRbac } from '../../../rights/access/who-can.ts';
import type { PolicyRule } from '../../../rights/rbac/rbac.ts';
import type { RbacView } from '../../../rights/rbac/rbac-view.ts';
import type { FetchDependencies } from '../../api/answer-dependencies.ts';
import { searchVersion } from '../../catalog/catalog.ts';
import { mostReadings, restlessRights } from '../../api/current-rights.ts';
import type { WhatCanQuestion, WhoCanQuestion } from '../../api/question.ts';
import type { Planned } from '../../api/state.ts';

/**
 * The most rows of an answer, where each name in `becomes` counts as one. Further rows are left out, and the clusters
 * that they belong to are named as incomplete. A tenant can make the rows of one cluster many with two objects.
 */
const mostRows = 50_000;
/** The most comparisons of one cluster. A cluster whose RBAC takes more is named as incomplete. */
const mostComparisons = 5_000_000;
/** After this number of clusters, or of comparisons (the next constant), other requests may use the event loop. */
const clustersInOneTurn = 16;
const comparisonsInOneTurn = 1_000_000;

/** Thrown when a cluster takes too many comparisons. */
class TooManyComparisons extends Error {}

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
  dependencies: Pick<FetchDependencies, 'rights'>,
): Promise<object> {
  const { access } = question;
  const rows = new Rows();
  const others = new Rows();
  const incomplete = await inEachCluster(request.user, question, dependencies, {
    begin: () => [rows, others].forEach((each) => each.clear()),
    read: ({ cluster, known }) => {
      for (const each of known) {
        const found: Finding[] = [];
        for (const finding of whoCan(each, access)) {
          if (!rows.add(rowsOf(cluster, finding))) return true;
          found.push(finding);
        }
        if (!question.mayBecome) continue;
        for (const { way, becomes, ...finding } of mayBecome(each, access, found))
          if (!others.add(rowsOf(cluster, finding, { way, becomes }), 1 + becomes.length)) return true;
      }
      return false;
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
  dependencies: Pick<FetchDependencies, 'rights'>,
): Promise<object> {
  const { subject } = question;
  const named = subject && memberView(makeUser(subject));
  const rows = new Rows();
  const unrestrictedIn = new Set<string>();
  const incomplete = await inEachCluster(request.user, question, dependencies, {
    begin: () => {
      rows.clear();
      unrestrictedIn.clear();
    },
    read: ({ cluster, known, identity }) => {
      if ((named ?? identity)?.groups.includes(mastersGroup) === true) unrestrictedIn.add(cluster);
      for (const each of known) {
        const own = named === undefined && identity !== undefined ? ownRows(cluster, each, identity) : [];
        if (!rows.add(named === undefined ? own : rowsOfAll(cluster, whatCan(each, named)))) return true;
      }
      return false;
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
  /** Reads one cluster. Returns true when the rows are full, so that no further cluster can be read. */
  readonly read: (access: ClusterAccess) => boolean;
}

/**
 * Reads each cluster that the caller may reach. Security: RBAC may change while it is read, and with it the caller's
 * own rights. So these rights are read again afterwards, and everything starts over when they have changed.
 * @returns what the answer may lack, by cluster
 */
async function inEachCluster(
  user: User,
  asked: AskedClusters,
  { rights }: Pick<FetchDependencies, 'rights'>,
  { begin, read }: Reading,
): Promise<readonly AccessGap[]> {
  let access = await rights.access(user, asked);
  for (let reading = 1; reading <= mostReadings; reading += 1) {
    begin();
    const gaps = await readAll(access, read);
    const after = await rights.access(user, asked);
    if (after.digest === access.digest) return gaps;
    access = after;
  }
  throw restlessRights();
}

async function readAll({ clusters }: AccessAnswer, read: Reading['read']): Promise<readonly AccessGap[]> {
  const gaps: AccessGap[] = [];
  const message = `there are more than ${mostRows} rows; ask for fewer clusters`;
  let isFull = false;
  let inTurn = 0;
  for (const [index, each] of clusters.entries()) {
    if (index % clustersInOneTurn === clustersInOneTurn - 1 || inTurn > comparisonsInOneTurn) {
      await new Promise((resolve) => void setImmediate(resolve));
      inTurn = 0;
    }
    gaps.push(...each.gaps);
    let comparisons = 0;
    const spend = (more: number): void => {
      comparisons += more;
      if (comparisons > mostComparisons) throw new TooManyComparisons();
    };
    try {
      isFull ||= read({ ...each, known: each.known.map((known) => ({ ...known, spend })) });
      if (isFull) gaps.push({ cluster: each.cluster, reason: 'TooManyRows', message });
    } catch (error) {
      if (!(error instanceof TooManyComparisons)) throw error;
      gaps.push({ cluster: each.cluster, reason: 'TooManyRows', message: 'its roles and bindings are too many' });
    }
    inTurn += comparisons;
  }
  return gaps;
}

class Rows {
  items: object[] = [];
  #size = 0;

  clear(): void {
    this.items = [];
    this.#size = 0;
  }

  /**
   * Adds rows until the answer is full.
   * @param size how much each row counts towards {@link mostRows}
   * @returns whether there is room for more
   */
  add(rows: Iterable<object>, size = 1): boolean {
    for (const row of rows) {
      if (this.#size >= mostRows) return false;
      this.items.push(row);
      this.#size += size;
    }
    return true;
  }
}

/** One row for each subject that has a rule by a binding. @param more further fields of each row */
function* rowsOf(cluster: string, { subjects, binding, rule }: Finding, more: object = {}): Generator<object> {
  const { namespace, name, role } = binding;
  const via = {
    binding: { kind: namespace === '' ? 'ClusterRoleBinding' : 'RoleBinding', ...placed(namespace), name },
    role: { kind: role.kind, ...placed(role.namespace), name: role.name },
  };
  const shown = shownRule(rule);
  for (const key of subjects)
    yield { cluster, subject: subjectOf(key), ...placed(namespace), rule: shown, via, ...more };
}

function* rowsOfAll(cluster: string, findings: Iterable<Finding>): Generator<object> {
  for (const finding of findings) yield* rowsOf(cluster, finding);
}

/**
 * The caller's own rules, which the cluster would tell the caller, too (SelfSubjectRulesReview). Security: the binding
 * that gives a rule is named only when the caller may read that binding.
 */
function* ownRows(cluster: string, known: KnownRbac & { readonly view: RbacView }, identity: User): Generator<object> {
  const { view, isReadable } = known;
  const all = { view, isReadable: () => true };
  const may = whatCan(all, identity).some((finding) => isAllowed(finding, aboutMyself));
  for (const finding of whatCan(all, identity)) {
    const { binding, rule } = finding;
    if (isBindingReadable(isReadable, binding)) yield* rowsOf(cluster, finding);
    else if (may) yield { cluster, ...placed(binding.namespace), rule: shownRule(rule) };
  }
}

function placed(namespace: string): { readonly namespace?: string } {
  return namespace === '' ? {} : { namespace };
}

/** A rule as RBAC objects have it, without lists that are empty. */
function shownRule(rule: PolicyRule): object {
  return Object.fromEntries(Object.entries(rule).filter(([, items]) => items.length > 0));
}
