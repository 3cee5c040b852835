// What a user has no right to must change nothing in any answer to them. Looking for words finds what one thought of;
// here each question is asked before and after what is hidden changes, and once of a cluster that does not exist.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { AskOptions } from '../../integration/index/index-site.ts';
import { asTable, collections, configMap, index, namespace, proxy, resources } from './index-world.ts';
import type { IndexWorld } from './index-world.ts';

interface Question extends AskOptions {
  readonly target: string;
}

const partial = { accept: 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io' };
const aggregated = { accept: 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList' };
const posted = (body: object): Question => ({ target: `${index}/query`, method: 'POST', body });
const configMaps = '/api/v1/configmaps';

/** Each way in which something of a cluster could be told. */
const questions: readonly Question[] = [
  { target: `${proxy}${configMaps}` },
  { target: `${proxy}${configMaps}?limit=2&withRemainingCount&withContinue` },
  { target: `${proxy}${configMaps}?limit=2&continue=1&withRemainingCount` },
  { target: `${proxy}${configMaps}?orderby=created_at%20desc,name` },
  { target: `${proxy}${configMaps}?labelSelector=canary` },
  { target: `${proxy}${configMaps}?labelSelector=!canary` },
  { target: `${proxy}${configMaps}?fieldSelector=data.phase%21%3Done` },
  { target: `${proxy}${configMaps}?text=canary` },
  { target: `${proxy}${configMaps}?filter=cluster%21%3Dalpha` },
  { target: `${proxy}${configMaps}?ownerName=one` },
  { target: `${proxy}${configMaps}`, headers: asTable },
  { target: `${proxy}${configMaps}`, headers: partial },
  { target: `${proxy}/api/v1/namespaces` },
  { target: `${proxy}/api/v1/namespaces/canary-place` },
  { target: `${proxy}/api/v1/namespaces/canary-place/configmaps` },
  { target: `${proxy}/api/v1/namespaces/shop/configmaps/one` },
  { target: `${proxy}/api/v1/namespaces/shop/configmaps/one`, headers: asTable },
  { target: `${proxy}/api/v1/namespaces/shop/configmaps/canary-only` },
  { target: `${proxy}/api/v1/namespaces/shop/configmaps/canary-new` },
  { target: `${proxy}/api/v1/namespaces/shop/pods/canary-only` },
  { target: `${proxy}/api/v1/secrets` },
  { target: `${proxy}/api` },
  { target: `${proxy}/apis` },
  { target: `${proxy}/api`, headers: aggregated },
  { target: `${proxy}/apis`, headers: aggregated },
  { target: `${proxy}/api/v1` },
  { target: `${proxy}/apis/canary.example.org` },
  { target: `${proxy}/apis/canary.example.org/v1` },
  { target: `${proxy}/openapi/v3` },
  { target: `${proxy}/openapi/v3/apis/canary.example.org/v1` },
  { target: `${resources}${configMaps}?limit=2&withRemainingCount&withContinue` },
  { target: `${resources}/api/v1/namespaces/shop/configmaps/canary-only` },
  { target: `${resources}/apis`, headers: aggregated },
  { target: collections },
  { target: `${collections}/any?resources=/v1/configmaps,/v1/namespaces&limit=3&withRemainingCount` },
  { target: `${collections}/any?groups=`, headers: asTable },
  { target: `${collections}/kuberesources?onlyMetadata` },
  { target: `${index}/counts?resource=configmaps` },
  { target: `${index}/counts?resource=configmaps,namespaces&labelSelector=mine` },
  ...['cluster', 'namespace', 'type', 'metadata.labels.canary', 'metadata.labels.app', 'data.phase'].flatMap((by) => [
    { target: `${index}/facets?resource=configmaps&by=${by}` },
    { target: `${index}/values?resource=configmaps&by=${by}&prefix=c` },
  ]),
  { target: `${index}/freshness` },
  { target: `${index}/freshness?resource=configmaps` },
  posted({ resource: ['configmaps'], filter: ['name~canary'], withRemainingCount: true, limit: 1 }),
  posted({ resource: ['configmaps'], notClusters: ['alpha'] }),
];

/** Asked of all clusters at once, live. */
const liveQuestions: readonly Question[] = [
  { target: `/clusters/*/proxy/api/v1/namespaces/shop/configmaps` },
  { target: `/clusters/*/proxy/api/v1/namespaces/shop/configmaps?limit=2` },
  { target: `/clusters/*/proxy/api/v1/namespaces/shop/configmaps`, headers: asTable },
  { target: `/clusters/*/proxy/api/v1/namespaces/shop/configmaps/one` },
  { target: `/clusters/*/proxy/api/v1/namespaces/shop/configmaps/canary-only` },
  { target: `/clusters/*/proxy/api/v1/namespaces/canary-place/configmaps` },
  { target: `/clusters/*/proxy/apis/canary.example.org/v1/canaries?partial=false` },
  { target: `/clusters/*/proxy/apis` },
];

/** What stands for a time, a version of the whole index or an encrypted token. */
const changing: readonly (readonly [RegExp, string])[] = [
  [/"resourceVersion":"\d{19}"/g, '"resourceVersion":"*"'],
  [/"continue":"p1\.[\w-]+"/g, '"continue":"*"'],
  [/"confirmedAt":"[^"]*"|"(?:ageSeconds|lagMilliseconds)":\d+/g, '"when":"*"'],
  [/"\d+[smh](?:\d+[sm])?"/g, '"age"'],
];

/** All that an answer tells. */
async function answerTo(world: IndexWorld, user: string, { target, ...options }: Question): Promise<string> {
  const { status, headers, text } = await world.ask(target, user, options);
  assert.notEqual(status, 500, `${target}: ${text}`);
  const reported = JSON.stringify([status, headers['warning'], headers['content-length'] === undefined]);
  return changing.reduce((said, [pattern, mark]) => said.replaceAll(pattern, mark), `${reported} ${text}`);
}

async function answersTo(world: IndexWorld, user: string, asked: readonly Question[]): Promise<readonly string[]> {
  const answers: string[] = [];
  for (const question of asked) answers.push(`${question.target} ${await answerTo(world, user, question)}`);
  return answers;
}

/** Beta changes in every way that an answer could show. */
async function changeBeta(world: IndexWorld): Promise<void> {
  const post = (path: string, body: object): Promise<void> => world.change('beta', path, { method: 'POST', body });
  await post('/api/v1/namespaces', namespace('canary-second'));
  for (const name of ['canary-new', 'aaa', 'zzz'])
    await post('/api/v1/namespaces/shop/configmaps', configMap('shop', name, { app: name, mine: 'yes', canary: 'no' }));
  await world.change('beta', '/api/v1/namespaces/shop/configmaps/two', { method: 'DELETE' });
  await post('/apis/canary.example.org/v1/namespaces/shop/canaries', {
    apiVersion: 'canary.example.org/v1',
    kind: 'Canary',
    metadata: { name: 'canary-object' },
  });
  await world.until(`${proxy}/clusters/beta/api/v1/configmaps?names=two,zzz&namespaces=shop`, ({ items }) => {
    return items.length === 1 && items[0]!.metadata.name === 'zzz';
  });
  await world.until(`${proxy}/apis/canary.example.org/v1/canaries`, ({ items }) => items.length === 1);
}

/** Ways to name a cluster. */
const naming = (name: string): readonly Question[] => [
  ...[resources, proxy].flatMap((api) => [
    { target: `${api}/clusters/${name}/api/v1/configmaps` },
    { target: `${api}/clusters/${name}/api/v1/configmaps?watch=1` },
    { target: `${api}/clusters/${name}/api/v1/namespaces/shop/configmaps/one` },
    { target: `${api}/clusters/${name}/apis/example.org/v1/widgets` },
    { target: `${api}/clusters/${name}/apis` },
    { target: `${api}/clusters/${name}/openapi/v3` },
    { target: `${api}${configMaps}?clusters=${name}` },
    { target: `${api}${configMaps}?clusters=alpha,${name}` },
    { target: `${api}${configMaps}?filter=cluster%3D${name}` },
    { target: `${api}${configMaps}?labelSelector=search.clusterpedia.io/clusters%3D${name}` },
    {
      target: `${api}${configMaps}?fieldSelector=metadata.annotations['shadow.clusterpedia.io/cluster-name']%3D${name}`,
    },
  ]),
  { target: `${collections}/any?resources=/v1/configmaps&clusters=${name}` },
  { target: `${index}/counts?resource=configmaps&clusters=${name}` },
  { target: `${index}/facets?resource=configmaps&by=cluster&clusters=${name}` },
  { target: `${index}/values?resource=configmaps&by=cluster&prefix=${name}` },
  { target: `${index}/freshness?clusters=${name}` },
  posted({ resource: ['configmaps'], clusters: [name] }),
];

/** The tests of this file. */
export function hiddenTests(world: () => IndexWorld): void {
  describe('what is hidden', () => {
    test('a cluster out of reach is told from one that does not exist by nothing (ATT-25)', async () => {
      for (const user of ['walled', 'outside']) {
        const hidden = await answersTo(world(), user, naming('beta'));
        const missing = await answersTo(world(), user, naming('nope'));
        for (const [i, answer] of hidden.entries()) assert.equal(answer.replaceAll(/(?<!v1)beta/g, 'nope'), missing[i]);
      }
    });

    test('what changes where a user has no rights changes no answer, list, count, facet, error, discovery or watch of theirs (ATT-25)', async () => {
      const users = ['walled', 'outside', 'bare'] as const;
      const askedBy = (user: string): readonly Question[] =>
        user === 'bare' ? questions : [...questions, ...liveQuestions];
      const before = new Map<string, readonly string[]>();
      for (const user of users) before.set(user, await answersTo(world(), user, askedBy(user)));
      const watches = ['walled', 'bare'].map((user) =>
        world().watch(`${proxy}${configMaps}?watch=1&allowWatchBookmarks=true`, user),
      );
      try {
        for (const watching of watches) await watching.until(3);
        await changeBeta(world());
        for (const user of users) {
          const after = await answersTo(world(), user, askedBy(user));
          for (const [i, answer] of after.entries()) assert.equal(answer, before.get(user)![i], user);
          const own = user === 'outside' ? /(?<!v1)(?:alpha|beta)|canary-/ : /(?<!v1)beta|canary-/;
          for (const answer of after) {
            // What they asked for may come back to them.
            const said = answer.slice(answer.indexOf(' ')).replaceAll(/canary-(?:only|new|place)/g, '');
            if (user !== 'bare') assert.doesNotMatch(said, own);
          }
        }
        // Something of their own ends the silence: between the two no event and no bookmark came.
        const body = configMap('shop', 'own', { mine: 'no' });
        await world().change('alpha', '/api/v1/namespaces/shop/configmaps', { method: 'POST', body });
        for (const watching of watches) {
          const events = await watching.until(4);
          const reported = events.map(({ type, object }) =>
            type === 'BOOKMARK' ? type : `${type} ${object.metadata.name}`,
          );
          assert.deepEqual(reported.slice(0, 5), ['ADDED one', 'ADDED three', 'ADDED two', 'BOOKMARK', 'ADDED own']);
        }
        await world().change('alpha', '/api/v1/namespaces/shop/configmaps/own', { method: 'DELETE' });
      } finally {
        for (const watching of watches) watching.close();
      }
    });

    test('OpenAPI describes the types of which a user may see something, though it is read for everybody (ATT-25)', async () => {
      const reported = async (user: string, path: string): Promise<readonly string[] | number> => {
        const { status, text, json, headers } = await world().ask(`${proxy}/openapi/v3/${path}`, user);
        if (user !== 'admin')
          assert.doesNotMatch(`${String(headers['warning'])}${text}`, /canar|"kind":"Secret|\/status"/i);
        if (status !== 200) return status;
        const { paths } = json<{ readonly paths: object }>();
        return [
          ...new Set(Object.keys(paths).map((each) => each.replace('/{name}', '').split('/').at(-1)!)),
        ].toSorted();
      };
      const canaries = 'apis/canary.example.org/v1';
      // What the role `view` gives, of the types in the index and of those that the clusters answer for.
      const viewed = [
        ...['configmaps', 'endpoints', 'events', 'limitranges', 'namespaces', 'persistentvolumeclaims', 'pods'],
        ...['replicationcontrollers', 'resourcequotas', 'serviceaccounts', 'services'],
      ];
      const others = ['nodes', 'persistentvolumes', 'podtemplates', 'secrets'];
      assert.deepEqual(await reported('admin', 'api/v1'), [...viewed, ...others].toSorted());
      assert.deepEqual(await reported('admin', canaries), ['canaries']);
      for (const user of ['bare', 'walled']) {
        assert.deepEqual(await reported(user, 'api/v1'), viewed);
        assert.equal(await reported(user, canaries), 404);
      }
      for (const path of ['api/v1', canaries]) assert.equal(await reported('outside', path), 404);
    });

    test('a watch that is asked to begin with versions tells nothing of what it may not see (ATT-25)', async () => {
      const starts = ['resourceVersion=0', 'sendInitialEvents=true&resourceVersionMatch=NotOlderThan'];
      const watches = starts.map((query) =>
        world().watch(
          `${proxy}/api/v1/namespaces?watch=1&allowWatchBookmarks=true&timeoutSeconds=1&${query}`,
          'walled',
          asTable,
        ),
      );
      for (const watching of watches) {
        assert.equal(await watching.ended, true);
        assert.deepEqual([...new Set(watching.events.map(({ type }) => type))], ['BOOKMARK']);
        assert.doesNotMatch(JSON.stringify(watching.events), /(?<!v1)beta|canary|shop|ops/);
      }
    });
  });
}
