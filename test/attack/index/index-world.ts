// The clusters and users of the attacks on the index: `alpha`, `beta`, and who may reach what of them. Beta keeps out
// some users by the gateway's rules and some by its own RBAC only, and of the first of them it is a secret that beta is
// there at all.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { JsonObject } from '../../../sim/model/types.ts';
import { binding, startIndexSite } from '../../integration/index/index-site.ts';
import type { AskOptions, IndexedList, IndexSite } from '../../integration/index/index-site.ts';
import { hostileObjects } from './index-corpus.ts';
import { rulesText } from '../../site/site.ts';
import { clusterRole } from '../../site/rbac.ts';
import { customResource } from '../../site/custom-resource.ts';
import { tempDir } from '../../pretend/temp-dir.ts';

export const resources = '/apis/clusterpedia.io/v1beta1/resources';
export const collections = '/apis/clusterpedia.io/v1beta1/collectionresources';
export const index = '/apis/search.portcullis.io/v1alpha1/indexes/default';
export const proxy = `${index}/proxy`;
export const asTable = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json' };
export const clusterAnnotation = 'shadow.clusterpedia.io/cluster-name';
export const namespaces = ['shop', 'ops'] as const;

/** What one test works with; made once for the process. */
export interface IndexWorld extends IndexSite {
  /** Answers as admin until what a member was told is in the index. */
  until(path: string, isThere: (list: IndexedList) => boolean): Promise<void>;
  /** Asks a member itself as admin. @throws AssertionError unless it is 2xx */
  change(cluster: string, path: string, options: AskOptions): Promise<void>;
}

/**
 * - `admin` may everything; `boss` may act as anybody, and nothing else.
 * - `walled` may reach alpha, where they read `shop`; beta's own RBAC would give them everything.
 * - `outside` may reach no cluster; the RBAC of both would give them everything.
 * - `bare` may reach both; alpha gives them `shop`, beta nothing.
 */
const users = ['admin', 'boss', 'walled', 'outside', 'bare'] as const;

const everything = { verbs: ['*'], apiGroups: ['*'], resources: ['*'] };
const of = (name: string): object[] => [{ kind: 'User', name }];
const rules: readonly object[] = [
  { subjects: of('admin'), ...everything },
  { subjects: of('admin'), verbs: ['*'], nonResourceURLs: ['*'] },
  { subjects: of('boss'), ...everything, verbs: ['impersonate'] },
  {
    subjects: [...users.flatMap(of), { kind: 'Group', name: 'team' }],
    verbs: ['get', 'list', 'watch', 'create'],
    apiGroups: ['search.portcullis.io', 'clusterpedia.io'],
    resources: ['*'],
  },
  { subjects: of('walled'), clusters: ['alpha'], ...everything },
  { subjects: [...of('bare'), { kind: 'Group', name: 'team' }], clusters: ['alpha', 'beta'], ...everything },
];

export function namespace(name: string): JsonObject {
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name } };
}

export function configMap(place: string, name: string, labels: Readonly<Record<string, string>> = {}): JsonObject {
  const metadata = { name, namespace: place, labels };
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { phase: name } } as JsonObject;
}

/** In both clusters and in each namespace; named so that no other test meets them. */
export const plainNames = ['one', 'two', 'three'] as const;

const inBoth = namespaces.flatMap((place) => [
  namespace(place),
  ...plainNames.map((name) => configMap(place, name, { app: name, mine: 'yes' })),
]);

/** Of beta alone: every text in it that could be told says so. */
const hidden: readonly JsonObject[] = [
  namespace('canary-place'),
  configMap('shop', 'canary-only', { canary: 'canary', mine: 'yes' }),
  configMap('canary-place', 'canary-other', { mine: 'yes' }),
  customResource('canaries.canary.example.org', 'Canary'),
];

/** Starts it. @param more seeds of both clusters by name */
export async function startIndexWorld(more: Readonly<Record<string, readonly JsonObject[]>>): Promise<IndexWorld> {
  const folder = tempDir('index-attack');
  const authorizationRules = join(folder, 'rules.yaml');
  writeFileSync(authorizationRules, rulesText(rules));
  const admin = binding('admin', 'cluster-admin', 'admin');
  const site = await startIndexSite(
    users,
    {
      alpha: [
        admin,
        ...inBoth,
        ...hostileObjects(),
        binding('walled', 'view', 'walled', 'shop'),
        binding('bare', 'view', 'bare', 'shop'),
        binding('outside', 'cluster-admin', 'outside'),
        ...(more['alpha'] ?? []),
      ],
      beta: [
        admin,
        ...inBoth,
        ...hidden,
        binding('walled', 'cluster-admin', 'walled'),
        binding('outside', 'cluster-admin', 'outside'),
        ...(more['beta'] ?? []),
      ],
    },
    { indexResources: 'configmaps,namespaces,secrets,pods,canaries.canary.example.org', authorizationRules },
  );
  const change = async (cluster: string, path: string, options: AskOptions): Promise<void> => {
    const answer = await site.ask(`/clusters/${cluster}/proxy${path}`, 'admin', options);
    assert.ok(answer.status < 300, answer.text);
  };
  const until = async (path: string, isThere: (list: IndexedList) => boolean): Promise<void> => {
    for (;;) {
      const answer = await site.ask(path, 'admin');
      if (answer.status === 200 && isThere(answer.json<IndexedList>())) return;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  await until(`${proxy}/apis/canary.example.org/v1/canaries`, () => true);
  return {
    ...site,
    change,
    until,
    async close() {
      await site.close();
    },
  };
}

/** A role and its binding to one user, cluster-wide or in a namespace. */
export function grant(name: string, subject: object, roleRules: readonly object[], place?: string): JsonObject[] {
  const role = clusterRole(name, roleRules) as JsonObject;
  return [role, { ...binding(name, name, '', place), subjects: [subject] } as JsonObject];
}
