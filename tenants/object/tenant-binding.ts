// Reads TenantBindings: which subjects get which roles in which clusters, and the results that the status records.
import { fieldOf, listAt, textAt, textsAt } from '../../lib/objects/json-object.ts';
import { generationOf } from '../../kube/objects/conditions.ts';
import { rbacGroup } from '../../lib/objects/api-names.ts';
import { lastModifierOf } from '../../distribute/stamp/authors.ts';
import {
  GrantFault,
  readGranted,
  readNamespaces,
  readRoleRef,
  readSelector,
  readSubjects,
  readWriter,
  type ClusterResult,
  type GrantKind,
  type Phase,
  type RbacObject,
  type Where,
} from './grant.ts';

/**
 * The API group differs from gateway.portcullis.io, the gateway's own: an aggregated API serves that group on the hub,
 * so a CustomResourceDefinition cannot add to it.
 */
export const tenantBindings: GrantKind = {
  type: { group: 'tenancy.portcullis.io', version: 'v1alpha1', resource: 'tenantbindings' },
  kind: 'TenantBinding',
  appliedType: 'Applied',
  clustersOf(binding) {
    const clusters = fieldOf(binding, 'spec', 'clusters');
    return {
      all: fieldOf(clusters, 'all') === true,
      names: textsAt(clusters, 'names'),
      selector: readSelector(fieldOf(clusters, 'selector')),
      placements: listAt(clusters, 'placements').map((each) => ({
        namespace: textAt(each, 'namespace'),
        name: textAt(each, 'name'),
      })),
    };
  },
  rbacObjectsOf(binding) {
    const subjects = readSubjects(listAt(binding, 'spec', 'subjects'));
    return listAt(binding, 'spec', 'grants').flatMap((grant, index) => {
      const name = `portcullis:tenant:${binding.metadata.name}:${index}`;
      const hasRules = fieldOf(grant, 'rules') !== undefined;
      const roleRef = hasRules
        ? { apiGroup: rbacGroup, kind: 'ClusterRole', name }
        : readRoleRef('ClusterRole', textAt(grant, 'clusterRole'));
      const where = textAt(grant, 'scope') === 'Namespaces' ? whereOf(grant) : undefined;
      const kind = where === undefined ? 'ClusterRoleBinding' : 'RoleBinding';
      const bound: RbacObject = { kind, name, where, content: { roleRef, subjects }, grant: index };
      if (!hasRules) return [bound];
      const content = { rules: listAt(grant, 'rules') };
      return [{ kind: 'ClusterRole', name, where: undefined, content, grant: index } as const, bound];
    });
  },
  prunes: (binding) => fieldOf(binding, 'spec', 'prune') !== false,
  expiresAtMs(binding) {
    const at = Date.parse(textAt(binding, 'spec', 'expiresAt'));
    return Number.isNaN(at) ? undefined : at;
  },
  resultsOf(binding) {
    return new Map(listAt(binding, 'status', 'clusters').map((each) => [textAt(each, 'name'), resultIn(each)]));
  },
  toldBy(results, conditions, binding) {
    const clusters = [...results]
      .toSorted(([one], [other]) => (one < other ? -1 : 1))
      .map(([name, { writer, ...result }]) => ({
        name,
        ...result,
        writer: writer === undefined ? null : { user: writer.name, groups: writer.groups },
      }))
      .map(({ writer, ...rest }) => (writer === null ? rest : { ...rest, writer }));
    const author = lastModifierOf(binding);
    return {
      annotations: {},
      status: {
        observedGeneration: generationOf(binding) ?? null,
        author: author === undefined || 'fault' in author ? null : author.name,
        summary: summaryOf(results),
        clusters,
        conditions,
      },
    };
  },
};

function whereOf(grant: unknown): Where {
  const selector = readSelector(fieldOf(grant, 'namespaceSelector'));
  if (selector !== undefined) return { selector };
  const names = textsAt(grant, 'namespaces');
  if (names.length === 0)
    throw new GrantFault('a grant with the scope Namespaces needs namespaces or namespaceSelector');
  return readNamespaces(names, fieldOf(grant, 'createNamespaces') === true);
}

/**
 * Counts the clusters in each phase. `applied` is a text for people such as `3/5`: clusters with all rights, and all
 * clusters.
 */
function summaryOf(results: ReadonlyMap<string, ClusterResult>) {
  const count = (phase: Phase): number => [...results.values()].filter((each) => each.phase === phase).length;
  const total = results.size - count('Removed');
  return { applied: `${count('Applied')}/${total}`, total, pending: count('Pending'), errors: count('Error') };
}

function resultIn(entry: unknown): ClusterResult {
  return {
    phase: (textAt(entry, 'phase') || 'Pending') as Phase,
    reason: textAt(entry, 'reason'),
    message: textAt(entry, 'message'),
    since: textAt(entry, 'since'),
    objects: readGranted(listAt(entry, 'objects')),
    writer: readWriter(fieldOf(entry, 'writer')),
  };
}
