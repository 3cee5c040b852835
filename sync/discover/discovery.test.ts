import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { SourceIndexing } from '../../model/records.ts';
import type { MemberAnswer } from '../../routing/members/member-call.ts';
import type { TypeInfo } from '../../query/types.ts';
import { makeCustomTypes } from './custom-resources.ts';
import { listedResources, type ServedResource } from '../../kube/discovery/documents.ts';
import { readServed } from './discovery-documents.ts';
import { followedTypes, negotiateVersions } from './discovery.ts';
import { measuredTypes } from './resource-metrics.ts';
import { splitIndexResources } from '../../lib/rights/index-rules.ts';
import { chooseTypes, makeSelection, parseResources } from './selection.ts';
import type { ClusterChoice } from './selection.ts';

const served = (group: string, resource: string, ...versions: readonly string[]): readonly ServedResource[] =>
  versions.map((version) => ({
    group,
    version,
    resource,
    kind: 'Kind',
    singular: '',
    namespaced: true,
    verbs: ['get', 'list', 'watch'],
    shortNames: [],
    categories: [],
  }));

function typeOf(group: string, resource: string, versions: readonly string[], storage?: string): TypeInfo {
  const customTypes = makeCustomTypes();
  if (storage !== undefined) {
    const definition = {
      spec: {
        group,
        names: { plural: resource },
        versions: versions.map((name) => ({ name, served: true, storage: name === storage })),
        conversion: { strategy: 'Webhook' },
      },
    };
    customTypes.put(Buffer.from(JSON.stringify(definition)));
  }
  return [...followedTypes({ resources: served(group, resource, ...versions) }, customTypes).values()][0]!;
}

/** Version of rows and versions wanted, or the refusal. */
function negotiated(type: TypeInfo, ...requested: readonly string[]): readonly string[] | string {
  const found = negotiateVersions(type, requested);
  return typeof found === 'string' ? found : [found.version, ...found.versions];
}

describe('versions of a type', () => {
  it('what comes with Kubernetes is kept as the member prefers it, whatever is requested (CP-149 to CP-153)', () => {
    const deployments = (...versions: readonly string[]): TypeInfo => typeOf('apps', 'deployments', versions);
    assert.equal(negotiated(deployments('v1'), 'v1')[0], 'v1');
    assert.equal(negotiated(deployments('v1', 'v1beta2', 'v1beta1'), 'v1beta1')[0], 'v1');
    assert.equal(negotiated(deployments('v1beta2', 'v1beta1'), 'v1alpha1')[0], 'v1beta2');
    // Clusterpedia takes v1, which its compiled scheme knows: here the member's first, one version a row.
    assert.equal(negotiated(deployments('v2', 'v1', 'v1beta2'))[0], 'v2');
    assert.equal(negotiated(deployments('v2', 'v1beta2'))[0], 'v2');
  });

  it('one that no scheme knows is kept all the same (CP-154 to CP-155)', () => {
    assert.equal(negotiated(typeOf('apps', 'deployments', ['v2']))[0], 'v2');
    assert.equal(negotiated(typeOf('apps', 'deployments', ['v2', 'v1alpha2']))[0], 'v2');
  });

  it('of a custom resource there is one row, in the storage version, and all served versions are views of it (CP-156 to CP-157)', () => {
    assert.deepEqual(negotiated(typeOf('e.com', 'w', ['v1beta2', 'v1beta1'], 'v1beta1')), [
      'v1beta1',
      'v1beta2',
      'v1beta1',
    ]);
    const five = ['v5', 'v4', 'v3', 'v2', 'v1'];
    assert.deepEqual(negotiated(typeOf('e.com', 'w', five, 'v2')), ['v2', ...five]);
  });

  it('requested versions of a custom resource are exactly those that are served (CP-158 to CP-160)', () => {
    const type = typeOf('e.com', 'w', ['v1beta2', 'v1alpha2', 'v1'], 'v1');
    assert.deepEqual(negotiated(type, 'v1beta2'), ['v1beta2', 'v1beta2']);
    assert.deepEqual(negotiated(type, 'v1beta2', 'v1alpha2'), ['v1beta2', 'v1beta2', 'v1alpha2']);
    assert.deepEqual(negotiated(type, 'v1', 'v1beta2'), ['v1', 'v1beta2', 'v1']);
    assert.deepEqual(negotiated(typeOf('e.com', 'w', ['v1alpha2'], 'v1alpha2'), 'v2beta1', 'v1alpha2'), [
      'v1alpha2',
      'v1alpha2',
    ]);
  });

  it('a requested version that is not served is an error that names what is (CP-161)', () => {
    assert.equal(
      negotiated(typeOf('e.com', 'w', ['v1', 'v2'], 'v1'), 'v2beta1'),
      'w.e.com is served as v1, v2, not as v2beta1',
    );
  });
});

describe('discovery', () => {
  it('resource metrics are those of the version that kubectl top reads; all of them while their server is down', () => {
    const measured = (resources: readonly ServedResource[], ...unknown: readonly string[]): readonly string[] =>
      measuredTypes({ resources, unknownGroups: new Set(unknown) }).map(({ kind }) => kind);
    const pods = served('metrics.k8s.io', 'pods', 'v1beta1');
    assert.deepEqual(measured(pods), ['PodMetrics']);
    assert.deepEqual(measured([...pods, ...served('metrics.k8s.io', 'nodes', 'v1')]), ['PodMetrics']);
    assert.deepEqual(measured(served('', 'pods', 'v1beta1'), 'other.io'), []);
    assert.deepEqual(measured([], 'metrics.k8s.io'), ['NodeMetrics', 'PodMetrics']);
  });

  it('passes over what cannot be followed and what is no name', () => {
    const listed = (group: string, name: string, verbs = ['get', 'list', 'watch']): readonly ServedResource[] =>
      listedResources({ resources: [{ name, kind: 'Kind', namespaced: true, verbs }] }, group, 'v1');
    const resources = [
      ...listed('', 'pods'),
      ...listed('', '../../secrets'),
      ...listed('evil/..', 'x'),
      ...listed('', 'x?'),
      ...listed('metrics.k8s.io', 'pods', ['get', 'list']),
    ];
    assert.deepEqual([...followedTypes({ resources }, makeCustomTypes()).keys()], ['pods.']);
  });

  const documents: Readonly<Record<string, unknown>> = {
    '/api': { kind: 'APIVersions', versions: ['v1'] },
    '/api/v1': {
      resources: [
        {
          name: 'pods',
          kind: 'Pod',
          singularName: 'pod',
          namespaced: true,
          verbs: ['list', 'watch'],
          shortNames: ['po'],
          categories: ['all'],
        },
        { name: 'pods/log', kind: 'Pod', namespaced: true, verbs: ['get'] },
      ],
    },
    '/apis': {
      kind: 'APIGroupList',
      groups: [
        { name: 'e.com', versions: [{ version: 'v1' }, { version: 'v2' }], preferredVersion: { version: 'v2' } },
        { name: 'down.io', versions: [{ version: 'v1' }], preferredVersion: { version: 'v1' } },
      ],
    },
    '/apis/e.com/v1': { resources: [{ name: 'ws', kind: 'W', namespaced: false, verbs: ['list', 'watch'] }] },
    '/apis/e.com/v2': { resources: [{ name: 'ws', kind: 'W', namespaced: false, verbs: ['list', 'watch'] }] },
  };
  const ask = async ({ path }: { readonly path: string }): Promise<MemberAnswer> => {
    const document = documents[path];
    async function* chunks(): AsyncGenerator<Buffer> {
      yield Buffer.from(JSON.stringify(document ?? {}));
    }
    return { status: document === undefined ? 503 : 200, headers: [], chunks: chunks(), cancel: () => undefined };
  };

  it('with millions of values is refused before it is parsed (ATT-67)', async () => {
    const many = `{"kind":"APIVersions","versions":["v1"],"x":[${'{},'.repeat(300_000)}{}]}`;
    async function* chunks(): AsyncGenerator<Buffer> {
      yield Buffer.from(many);
    }
    const hostile = async (): Promise<MemberAnswer> => {
      return { status: 200, headers: [], chunks: chunks(), cancel: () => undefined };
    };
    const reading = readServed(hostile, 'm1', { headTimeoutMs: 1000 }, new AbortController().signal);
    await assert.rejects(reading, /JSON with more than 500000 values/);
  });

  it('of an API server that does not aggregate it is read document by document; what is down is unknown, not gone', async () => {
    const found = await readServed(ask, 'm1', { headTimeoutMs: 1000 }, new AbortController().signal);
    assert.deepEqual([...found.unknownGroups], ['down.io']);
    const types = [...followedTypes(found, makeCustomTypes()).values()];
    assert.deepEqual(
      types.map(({ group, resource, version, versions, kind, singular, shortNames, namespaced }) => [
        group,
        resource,
        version,
        versions,
        kind,
        singular,
        shortNames,
        namespaced,
      ]),
      [
        ['', 'pods', 'v1', ['v1'], 'Pod', 'pod', ['po'], true],
        ['e.com', 'ws', 'v2', ['v2', 'v1'], 'W', 'w', [], false],
      ],
    );
  });
});

describe('what is chosen', () => {
  const types = followedTypes(
    {
      resources: [
        ...served('', 'pods', 'v1'),
        ...served('', 'events', 'v1'),
        ...served('', 'secrets', 'v1'),
        ...served('apps', 'deployments', 'v1'),
        ...served('coordination.k8s.io', 'leases', 'v1'),
        ...served('rbac.authorization.k8s.io', 'roles', 'v1'),
      ],
    },
    makeCustomTypes(),
  );
  const chosenBy = (...entries: readonly string[]): readonly string[] =>
    chooseTypes(types, { resources: parseResources(entries), allCustomResources: false }).chosen.map(
      ({ type, isChosen, filter }) => `${type.resource}${isChosen ? '' : '?'}${JSON.stringify(filter)}`,
    );

  it('"*" is everything but events and leases, which are followed when named', () => {
    assert.deepEqual(chosenBy('*'), ['pods{}', 'secrets{}', 'deployments{}', 'roles{}']);
    assert.deepEqual(chosenBy('*', 'events'), ['pods{}', 'events{}', 'secrets{}', 'deployments{}', 'roles{}']);
    assert.deepEqual(chosenBy('*.apps'), ['deployments{}', 'roles?{}']);
  });

  it('what a PediaCluster names may be plural or singular, in any case', () => {
    const chosen = (resource: string) =>
      chooseTypes(types, {
        resources: [{ group: 'apps', resource, versions: [], filter: {} }],
        allCustomResources: false,
      });
    // In these documents every kind is called Kind.
    for (const resource of ['deployments', 'kind', 'Kind', 'DEPLOYMENTS']) {
      const { chosen: found, refused } = chosen(resource);
      assert.ok(
        found.some(({ type, isChosen }) => isChosen && type.resource === 'deployments'),
        resource,
      );
      assert.deepEqual(refused, []);
    }
    assert.deepEqual(
      chosen('pod').refused.map((each) => each.resource),
      ['pod.apps'],
    );
  });

  it('what a source names is indexed in the namespaces it names; a source that names nothing selects nothing', () => {
    const resource = { group: '', resource: 'pod', versions: ['v1'] };
    const chosen = (indexing: SourceIndexing['resources']): ClusterChoice | undefined =>
      makeSelection(
        ['secrets'],
        undefined,
      )({ name: 'm1', labels: {}, indexing: { resources: indexing, allCustomResources: false } } as never);
    assert.deepEqual(chosen([{ ...resource, namespaces: ['a', 'b'] }]), {
      resources: [{ ...resource, filter: { namespaces: ['a', 'b'] } }],
      allCustomResources: false,
    });
    assert.deepEqual(chosen([resource])?.resources, [{ ...resource, filter: {} }]);
    assert.equal(chosen([]), undefined);
  });

  it('RBAC objects are followed in any case, and no filter applies to them', () => {
    assert.deepEqual(chosenBy('pods'), ['pods{}', 'roles?{}']);
    assert.deepEqual(chosenBy('roles.rbac.authorization.k8s.io{namespaces=a}'), ['roles{}']);
  });

  it('filters stand in braces; commas in them divide nothing', () => {
    const text = 'pods{namespaces=a b;labels=app in (web,api);names=x}, deployments.apps';
    assert.deepEqual(splitIndexResources(text), [
      'pods{namespaces=a b;labels=app in (web,api);names=x}',
      'deployments.apps',
    ]);
    assert.deepEqual(
      parseResources(splitIndexResources(text)).map(({ filter }) => filter),
      [{ namespaces: ['a', 'b'], labels: 'app in (web,api)', names: ['x'] }, {}],
    );
    for (const entry of ['', 'Pods', 'pods{', 'pods{a=b}', 'pods{labels=((}', 'a/b', 'pods{namespaces=}']) {
      assert.throws(() => parseResources([entry]), Error, entry);
    }
  });

  it('by default no Secret is, and clusters are chosen by name or by label', () => {
    const spec = { name: 'm1', labels: { env: 'prod' } } as never;
    const names = chooseTypes(types, makeSelection(undefined, undefined)(spec)!).chosen.map(
      ({ type }) => type.resource,
    );
    assert.deepEqual(names, ['pods', 'deployments', 'roles']);
    for (const [clusters, isChosen] of [
      ['m1', true],
      ['m2,m1', true],
      ['m2', false],
      ['env=prod', true],
      ['env in (test)', false],
      ['env!=test,other notin (x)', true],
      ['!env', false],
    ] as const) {
      assert.equal(makeSelection(undefined, clusters)(spec) !== undefined, isChosen, clusters);
    }
  });
});
