// What the index says of types whose rows are missing, to people who may not list these types: nothing. One cluster
// does not let the index read Secrets and widgets; of another it is a secret that it is there. A name in a Warning, in
// `resourceTypes` or in a 404 that another group does not get tells of a type just as a row does.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { JsonObject } from '../../../sim/model/types.ts';
import { eventually } from '../../site/polling.ts';
import { binding, startIndexSite } from '../../integration/index/index-site.ts';
import type { AskOptions, IndexSite } from '../../integration/index/index-site.ts';
import { collections, configMap, grant, index, namespace, proxy } from './index-world.ts';
import { rulesText } from '../../site/site.ts';
import { customResource } from '../../site/custom-resource.ts';
import { tempDir } from '../../pretend/temp-dir.ts';

let site: IndexSite;
const folder = tempDir('index-faults');

const everything = { verbs: ['*'], apiGroups: ['*'], resources: ['*'] };
const of = (name: string): object[] => [{ kind: 'User', name }];

/**
 * - `admin` may everything.
 * - `viewer` may reach both; alpha's RBAC gives them what the role `view` has (no Secrets) in `shop`, beta's nothing.
 * - `narrow` may ask both for ConfigMaps and no other type; the RBAC of both would give them everything.
 * - `walled` may reach alpha alone; the RBAC of both would give them everything.
 */
const users = ['admin', 'viewer', 'narrow', 'walled'] as const;
const rules: readonly object[] = [
  { subjects: of('admin'), ...everything },
  {
    subjects: users.flatMap(of),
    verbs: ['get', 'list', 'watch', 'create'],
    apiGroups: ['search.portcullis.io', 'clusterpedia.io'],
    resources: ['*'],
  },
  { subjects: of('viewer'), clusters: ['alpha', 'beta'], ...everything },
  { subjects: of('narrow'), clusters: ['alpha', 'beta'], ...everything, apiGroups: [''], resources: ['configmaps'] },
  { subjects: of('walled'), clusters: ['alpha'], ...everything },
];

function definition(plural: string, group: string): JsonObject {
  return customResource(`${plural}.${group}`, plural.slice(0, -1));
}

const read = ['get', 'list', 'watch'];
const seeds = (name: string): JsonObject[] => [
  binding('admin', 'cluster-admin', 'admin'),
  binding('narrow', 'cluster-admin', 'narrow'),
  binding('walled', 'cluster-admin', 'walled'),
  namespace('shop'),
  configMap('shop', `in-${name}`),
];

before(async () => {
  const authorizationRules = join(folder, 'rules.yaml');
  writeFileSync(authorizationRules, rulesText(rules));
  const indexUser = { kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'portcullis:index' };
  site = await startIndexSite(
    users,
    {
      alpha: [
        ...seeds('alpha'),
        binding('viewer', 'view', 'viewer', 'shop'),
        definition('widgets', 'quiet.example.org'),
        // In place of the right to read everything.
        ...grant('index', indexUser, [
          { apiGroups: [''], resources: ['configmaps', 'namespaces'], verbs: read },
          {
            apiGroups: ['rbac.authorization.k8s.io', 'apiextensions.k8s.io', 'apiregistration.k8s.io'],
            resources: ['*'],
            verbs: read,
          },
        ]),
      ],
      beta: [...seeds('beta'), definition('canaries', 'canary.example.org')],
      // The index may read nothing of it.
      gamma: [...seeds('gamma'), ...grant('index', indexUser, [])],
    },
    {
      indexResources: 'configmaps,secrets,widgets.quiet.example.org,canaries.canary.example.org',
      authorizationRules,
    },
  );
  // Both are read, and of alpha all that can be.
  await eventually('what can be indexed is', async () => {
    const found = await site.ask(`${proxy}/api/v1/configmaps`, 'admin');
    const canaries = await site.ask(`${proxy}/apis/canary.example.org/v1/canaries`, 'admin');
    const widgets = await site.ask(`${proxy}/apis/quiet.example.org/v1/widgets`, 'admin');
    return (
      /in-alpha/.test(found.text) &&
      /in-beta/.test(found.text) &&
      canaries.status === 200 &&
      /forbidden/.test(reported(widgets))
    );
  });
});
after(async () => {
  await site?.close();
});

const reported = ({ headers }: { readonly headers: Readonly<Record<string, unknown>> }): string =>
  String(headers['warning'] ?? '');

interface Question extends AskOptions {
  readonly target: string;
}

const collectionOf = (resources: string): Question => ({ target: `${collections}/any?resources=${resources}` });

describe('faults of types that a caller may not list', () => {
  test('who may list a type is told why its rows are missing (ATT-51)', async () => {
    const answer = await site.ask(`${proxy}/api/v1/secrets`, 'admin');
    assert.match(
      reported(answer),
      /299 - "cluster alpha: secrets not indexed yet: the list of secrets of cluster \\"alpha\\" is forbidden to /,
    );
  });

  test('a cluster in which nobody’s rights are known yet is named with a fault of the cluster alone (ATT-51)', async () => {
    const fault =
      /cluster gamma: not indexed yet: the Namespace kube-system of cluster \\"gamma\\" is forbidden to portcullis:index/;
    const warned = await eventually('it is asked', async () => {
      const answer = await site.ask(`${proxy}/api/v1/secrets`, 'admin');
      return fault.test(reported(answer)) ? answer : undefined;
    });
    assert.doesNotMatch(reported(warned), /cluster gamma: [^,]*secrets/);
  });

  test('no Warning tells a fault of a type to a caller whom its cluster does not let list it (ATT-51)', async () => {
    const questions: readonly Question[] = [
      { target: `${proxy}/api/v1/secrets` },
      { target: `${proxy}/api/v1/secrets?limit=1` },
      { target: `${proxy}/clusters/alpha/api/v1/secrets` },
      { target: `${proxy}/api/v1/namespaces/shop/secrets` },
      { target: `${proxy}/apis/quiet.example.org/v1/widgets` },
      collectionOf('/v1/configmaps,/v1/secrets,quiet.example.org/widgets'),
      { target: `${collections}/any?groups=*` },
      { target: `${collections}/kuberesources` },
      { target: `${index}/counts?resource=configmaps,secrets` },
      { target: `${index}/facets?resource=secrets&by=namespace` },
      { target: `${index}/values?resource=configmaps,secrets&by=name` },
      { target: `${index}/freshness` },
      { target: `${index}/freshness?resource=secrets` },
      { target: `${index}/query`, method: 'POST', body: { resource: ['configmaps', 'secrets'] } },
    ];
    for (const user of ['viewer', 'narrow']) {
      for (const { target, ...options } of questions) {
        const answer = await site.ask(target, user, options);
        assert.doesNotMatch(reported(answer), /forbidden|not indexed yet|as of/, `${user}: ${target}`);
        // That a cluster cannot be followed is for whoever may ask it; which types it is about is not.
        if (!target.includes('freshness')) continue;
        assert.doesNotMatch(answer.text, /secrets|widgets|canaries|phase":"failing/, `${user}: ${target}`);
      }
    }
  });

  test('a collection names the types of which the caller may list something, and no others (ATT-51)', async () => {
    const typesFor = async (user: string, target: string): Promise<readonly string[]> => {
      const answer = await site.ask(target, user);
      assert.equal(answer.status, 200, answer.text);
      const { resourceTypes } = answer.json<{ readonly resourceTypes: readonly { readonly resource: string }[] }>();
      return resourceTypes.map(({ resource }) => resource);
    };
    const asked = [
      `${collections}/any?groups=*`,
      collectionOf('/v1/configmaps,/v1/secrets,quiet.example.org/widgets').target,
    ];
    for (const target of asked) {
      assert.deepEqual(await typesFor('viewer', target), ['configmaps'], target);
      assert.deepEqual(await typesFor('narrow', target), ['configmaps'], target);
    }
    assert.deepEqual(await typesFor('narrow', `${collections}/kuberesources`), ['configmaps']);
    assert.ok((await typesFor('admin', asked[0]!)).includes('canaries'));
  });

  test('a group that only a cluster out of reach has is told from one that nobody has by nothing (ATT-51)', async () => {
    for (const user of ['walled', 'narrow', 'viewer']) {
      for (const more of ['', '&resources=/v1/configmaps', '&resources=apps/v1/deployments', '&limit=1']) {
        const hidden = await site.ask(`${collections}/any?groups=canary.example.org${more}`, user);
        const missing = await site.ask(`${collections}/any?groups=nowhere.example.org${more}`, user);
        const all = (answer: typeof hidden): string =>
          `${answer.status} ${reported(answer)} ${answer.text}`.replaceAll(
            /"(?:resourceVersion|continue)":"[^"]*"/g,
            '',
          );
        assert.equal(all(hidden), all(missing), `${user} ${more}`);
      }
    }
  });

  test('counts, facets and values say the same of a type out of reach as of one that is nowhere (ATT-51)', async () => {
    const ways = ['counts?', 'facets?by=cluster&', 'values?by=cluster&'];
    for (const way of ways) {
      const ask = (type: string) => site.ask(`${index}/${way}resource=configmaps,${type}`, 'narrow');
      const hidden = await ask('canaries.v1.canary.example.org');
      const missing = await ask('canaries.v1.nowhere.example.org');
      const all = (answer: typeof hidden): string => `${answer.status} ${reported(answer)} ${answer.text}`;
      assert.equal(all(hidden).replaceAll('canary.example', 'nowhere.example'), all(missing), way);
    }
  });
});
