import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ClusterSpec } from '../../model/records.ts';
import { typeKey, type TypeInfo } from '../../query/types.ts';
import { joinedOptions, parseAnnotations, parseOptions, type WrittenOptions } from './index-options.ts';
import { chooseTypes, makeSelection } from './selection.ts';

const prefix = 'index.portcullis.io/';

function typeOf(resource: string, group = '', namespaced = true): TypeInfo {
  const names = { singular: resource.replace(/s$/, ''), shortNames: [], categories: [] };
  const kind = names.singular.toUpperCase();
  return { group, resource, version: 'v1', versions: ['v1'], kind, ...names, namespaced, convertible: false };
}

const rbac = 'rbac.authorization.k8s.io';
const all = [
  typeOf('configmaps'),
  typeOf('events'),
  typeOf('events', 'events.k8s.io'),
  typeOf('namespaces', '', false),
  typeOf('nodes', '', false),
  typeOf('pods'),
  typeOf('secrets'),
  typeOf('roles', rbac),
  typeOf('things', 'example.org'),
];
const types = new Map(all.map((type) => [typeKey(type), type]));

function specOf(
  annotations?: Readonly<Record<string, string>>,
  labels: Readonly<Record<string, string>> = {},
): ClusterSpec {
  return {
    ...{ name: 'm1', originalName: 'm1', uid: 'u', source: 's', sourceDetail: 'm1', labels },
    ...{ endpoint: undefined, tls: { ca: undefined, serverName: undefined, insecure: false }, proxy: undefined },
    ...{ credential: undefined, transportKey: 'k', problem: undefined },
    ...(annotations && { indexOptions: annotations }),
  };
}

/** What is served of a cluster whose every type is chosen, by type: the filter, and the pruned fields. */
function served(
  annotations: Readonly<Record<string, string>>,
  rules: readonly (WrittenOptions & { readonly clusters?: string })[] = [],
): Readonly<Record<string, unknown>> {
  const everything = ['*', 'events', 'events.events.k8s.io'];
  const choice = makeSelection(everything, undefined, rules)(specOf(annotations))!;
  const chosen = chooseTypes(types, choice).chosen.filter(({ isChosen }) => isChosen);
  return Object.fromEntries(
    chosen.map(({ type, filter }) => [typeKey(type), type.pruned === undefined ? filter : [filter, type.pruned]]),
  );
}

const annotated = (options: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(options).map(([name, value]) => [prefix + name, value]));

describe('options that narrow the index', () => {
  it('leave everything as it is where there are none', () => {
    assert.deepEqual(served({}), Object.fromEntries([...types.keys()].map((key) => [key, {}])));
  });

  it('exclude types by name, in any spelling, by group, and Events in both of their groups', () => {
    const left = Object.keys(served(annotated({ exclude: 'secret, *.example.org, events' })));
    assert.deepEqual(left, ['configmaps.', 'namespaces.', 'nodes.', 'pods.', `roles.${rbac}`]);
    assert.deepEqual(served(annotated({ exclude: '*' })), {});
  });

  it('exclude namespaces and names on the side of the API server', () => {
    const found = served(annotated({ exclude: '*{namespaces=kube-system team-b},configmaps{names=kube-root-ca.crt}' }));
    const notNamespaces = ['kube-system', 'team-b'];
    assert.deepEqual(found['configmaps.'], { notNamespaces, notNames: ['kube-root-ca.crt'] });
    assert.deepEqual(found['pods.'], { notNamespaces });
    assert.deepEqual(found['nodes.'], {}, 'a node is in no namespace');
    assert.deepEqual(found['namespaces.'], {});
  });

  it('select what every one of them selects', () => {
    const options = annotated({
      select: 'pods{labels=app in (web,api);namespaces=a b c},pods{labels=tier},pods{namespaces=b c}',
    });
    assert.deepEqual(served(options, [{ exclude: ['*{namespaces=c}'] }])['pods.'], {
      namespaces: ['b'],
      labels: 'app in (web,api),tier',
    });
    assert.equal(served(annotated({ select: 'pods{namespaces=a},pods{namespaces=b}' }))['pods.'], undefined);
  });

  it('prune fields, of each type those that are named for it', () => {
    const found = served(
      annotated({
        prune: `configmaps{fields=data .binaryData},pods{fields=spec.containers[].env status.conditions[]}`,
      }),
      [{ prune: [`*{fields=metadata.annotations['a.io/b']}`] }],
    );
    const annotation = `metadata.annotations['a.io/b']`;
    assert.deepEqual(found['configmaps.'], [{}, ['binaryData', 'data', annotation]]);
    assert.deepEqual(found['pods.'], [{}, [annotation, 'spec.containers[].env', 'status.conditions']]);
    assert.deepEqual(found['nodes.'], [{}, [annotation]]);
  });

  it('of the configuration are for the clusters they name', () => {
    const rules = [
      { clusters: 'm2', exclude: ['pods'] },
      { clusters: 'env=test', exclude: ['secrets'] },
      { clusters: 'm1,m3', exclude: ['nodes'] },
    ];
    assert.deepEqual(
      Object.keys(served({}, rules)).filter((key) => ['pods.', 'secrets.', 'nodes.'].includes(key)),
      ['pods.', 'secrets.'],
    );
  });

  it('what decides access is followed whole, and not shown where it would have to be narrowed', () => {
    const roles = `roles.${rbac}`;
    const chosenWith = (options: Readonly<Record<string, string>>) => {
      const choice = makeSelection(['*'], undefined)(specOf(annotated(options)))!;
      const { chosen, refused } = chooseTypes(types, choice);
      return { role: chosen.find(({ type }) => type.resource === 'roles')!, refused };
    };
    const narrowing: readonly Readonly<Record<string, string>>[] = [
      { exclude: '*{namespaces=a}' },
      { select: 'roles.rbac.authorization.k8s.io{labels=a}' },
      { prune: '*{fields=rules}' },
      { exclude: '*.rbac.authorization.k8s.io' },
    ];
    for (const options of narrowing) {
      const { role, refused } = chosenWith(options);
      assert.deepEqual([role.isChosen, role.filter, role.type.pruned], [false, {}, undefined], JSON.stringify(options));
      const isTold = refused.some(({ resource, message }) => resource === roles && /kept whole/.test(message));
      assert.equal(isTold, options['exclude'] !== '*.rbac.authorization.k8s.io');
    }
    const { role } = chosenWith({ prune: "*{fields=metadata.annotations['x']}" });
    assert.deepEqual([role.isChosen, role.type.pruned], [true, ['metadata.annotations.x']]);
  });
});

describe('annotations that cannot be read', () => {
  const wrong: readonly (readonly [annotations: Readonly<Record<string, string>>, fault: RegExp])[] = [
    [{ exclude: 'pods,se crets' }, /^entry 2 of its annotation index\.portcullis\.io\/exclude cannot be read; write /],
    [{ exclude: 'pods{labels=a}' }, /entry 1 .*exclude/],
    [{ exclude: 'pods{namespaces=a;names=b}' }, /entry 1 .*exclude/],
    [{ exclude: 'pods{namespaces=}' }, /entry 1 .*exclude/],
    [{ exclude: 'pods{namespaces=../x}' }, /entry 1 .*exclude/],
    [{ select: 'pods' }, /entry 1 .*select/],
    [{ select: 'pods{labels=a in}' }, /entry 1 .*select/],
    [{ select: 'pods{labels=a' }, /entry 1 .*select/],
    [{ prune: 'pods{fields=metadata}' }, /entry 1 .*prune/],
    [{ prune: 'pods{fields=metadata.uid}' }, /entry 1 .*prune/],
    [{ prune: 'pods{fields=metadata.labels.app}' }, /entry 1 .*prune/],
    [{ prune: 'pods{fields=kind}' }, /entry 1 .*prune/],
    [{ prune: 'pods{fields=spec.containers[0]}' }, /entry 1 .*prune/],
    [{ prune: 'pods{fields=spec..a}' }, /entry 1 .*prune/],
    [{ excludes: 'pods' }, /annotation index\.portcullis\.io\/excludes is none that this version knows; there are /],
    [{ exclude: 'a,'.repeat(300) }, /more than .* entries/],
  ];
  for (const [options, fault] of wrong) {
    it(`index nothing of the cluster but what decides access: ${JSON.stringify(options).slice(0, 60)}`, () => {
      const read = parseAnnotations(annotated(options));
      assert.ok('fault' in read);
      assert.match(read.fault, fault);
      const values = Object.values(options).filter((value) => value.length > 6);
      for (const value of values) assert.equal(read.fault.includes(value), false, 'the value is not quoted');
      const choice = makeSelection(['*'], undefined)(specOf(annotated(options)))!;
      assert.equal(choice.fault, read.fault);
      const { chosen } = chooseTypes(types, choice);
      assert.deepEqual(
        chosen.map(({ type, isChosen }) => [type.resource, isChosen]),
        [
          ['namespaces', false],
          ['roles', false],
        ],
      );
    });
  }

  it('are read in no time, however long they are', () => {
    for (const filling of [' ', '{', '=', ';', 'a=', '\u00a0 '])
      parseAnnotations(annotated({ select: `pods{labels=x${filling.repeat(16_000 / filling.length)}y}` }));
  });

  it('of the configuration are refused with the entry', () => {
    for (const rule of [{ exclude: ['pods{'] }, { select: ['pods'] }, { prune: ['pods{fields=kind}'] }])
      assert.throws(() => makeSelection(undefined, undefined, [rule]), /"pods/);
    assert.throws(() => makeSelection(undefined, undefined, [{ clusters: 'a in (', exclude: ['pods'] }]));
  });
});

it('options of several places apply together', () => {
  const one = parseOptions({ exclude: ['pods'] });
  const joined = joinedOptions([one, parseOptions({ prune: ['*{fields=status}'] })]);
  assert.deepEqual([joined.exclude.length, joined.prune.length, joined.select.length], [1, 1, 0]);
  assert.equal(joinedOptions([one]), one);
});
