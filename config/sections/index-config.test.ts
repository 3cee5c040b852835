import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readIndexConfig } from './index-config.ts';
import type { IndexConfig } from './index-config.ts';
import { flagsAlone } from '../settings/settings.ts';

function read({ identity, ...given }: Readonly<Record<string, unknown>>): {
  readonly config: IndexConfig | undefined;
  readonly faults: readonly string[];
} {
  const faults: string[] = [];
  const config = readIndexConfig(
    flagsAlone(given, (flag, message) => void faults.push(`${flag}: ${message}`)),
    identity === 'self',
  );
  return { config, faults };
}

test('without flags there is an index of the common kinds that waits to be asked; "none" means none', () => {
  assert.deepEqual(read({}), {
    config: {
      resources: undefined,
      clusters: undefined,
      rules: [],
      collections: [],
      maxBytes: Infinity,
      rightsMaxAgeMs: 600_000,
      startsAtOnce: false,
    },
    faults: [],
  });
  assert.equal(read({ indexResources: 'none' }).config, undefined);
  assert.deepEqual(read({ indexResources: 'pods, deployments.apps,*' }).config?.resources, [
    'pods',
    'deployments.apps',
    '*',
  ]);
  assert.equal(read({ indexRights: 'review' }).config?.rights, 'review');
  assert.equal(read({ indexIdentity: 'self' }).config?.readAs, 'self');
  assert.equal(read({ indexClusters: 'environment=production' }).config?.startsAtOnce, true);
});

test("subresources that are forwarded are read as Clusterpedia's flag is, its first spelling of portforward too (CP-137 to CP-140)", () => {
  const forwarded = (list: string | readonly string[]) =>
    read({ allowedProxySubresources: list }).config?.forwardedSubresources;
  const pods = (...names: readonly string[]) => new Map([['pods', new Set(names)]]);
  assert.equal(read({}).config?.forwardedSubresources, undefined);
  for (const list of ['pods/portforward', 'pods/portfowrd', 'portforward', ' portfowrd ', ['portforward']])
    assert.deepEqual(forwarded(list), pods('portforward'), String(list));
  assert.deepEqual(forwarded('pods/log, exec'), pods('log', 'exec'));
  assert.deepEqual([...(forwarded('proxy') ?? [])].map(([resource]) => resource).toSorted(), [
    'nodes',
    'pods',
    'services',
  ]);
  for (const token of ['pods/trace', 'foo/portforward', 'pods/log/extra', '', 'nodes/log', 'pods/*'])
    assert.match(
      read({ allowedProxySubresources: `log,${token}` }).faults.join('\n'),
      new RegExp(`^--allowed-proxy-subresources: "${token.replace('*', '\\*')}" is no subresource`),
    );
});

test('options and collections are read from text and from lists', () => {
  const { config, faults } = read({
    indexExclude: 'secrets,*{namespaces=a b}',
    indexRules: [{ clusters: 'm1', select: 'pods{labels=a in (b,c)},nodes{names=n}' }],
    indexCollections: [{ name: 'a', resourceTypes: [{ resource: 'pods' }] }],
  });
  assert.deepEqual(faults, []);
  assert.deepEqual(
    config?.rules?.map(({ exclude, select }) => exclude ?? select),
    [
      ['secrets', '*{namespaces=a b}'],
      ['pods{labels=a in (b,c)}', 'nodes{names=n}'],
    ],
  );
  assert.deepEqual(config.collections?.[0]?.resourceTypes, [{ group: '', resource: 'pods', version: undefined }]);
});

test('a value that cannot be read is a fault of its flag', () => {
  const one = { name: 'a', resourceTypes: [{ resource: 'pods' }] };
  const twice = [one, one];
  for (const [given, expected] of [
    [{ indexResources: ' ,' }, /--index-resources: is empty/],
    [{ indexResources: 'Pods' }, /--index-resources: "Pods" is no resource/],
    [{ indexClusters: 'a in (' }, /--index-clusters: /],
    [
      { indexExclude: 'pods{labels=a}' },
      /--index-exclude: "pods\{labels=a\}": only namespaces= or names= may stand in braces/,
    ],
    [{ indexRules: [{ select: ['pods'] }] }, /indexRules: "pods" selects nothing/],
    [{ indexRules: [{ prune: 'pods{fields=kind}' }] }, /indexRules: .*"kind" is needed in every row/],
    [{ indexRules: [{ clusters: 'a in (', exclude: ['pods'] }] }, /indexRules: /],
    [{ indexCollections: [{ name: 'any', resourceTypes: [{ resource: 'pods' }] }] }, /indexCollections: .*built in/],
    [{ indexCollections: twice }, /indexCollections: the collection "a" is defined twice/],
    [{ indexMaxBytes: '1Mi' }, /--index-max-bytes: "1Mi" is not a size/],
    [{ indexMaxBytes: 'much' }, /--index-max-bytes: "much"/],
    [{ indexRightsMaxAge: '10' }, /--index-rights-max-age: "10"/],
    [{ indexRightsMaxAge: '2d' }, /--index-rights-max-age: "2d"/],
    [{ indexRights: 'no' }, /--index-rights: must be "auto", "rbac" or "review"/],
    [{ indexIdentity: 'root' }, /--index-identity: must be "auto", "impersonate" or "self"/],
    [
      { indexIdentity: 'impersonate', identity: 'self' },
      /--index-identity: must not be "impersonate" with --identity=self/,
    ],
  ] as const) {
    assert.match(read(given).faults.join('\n'), expected);
  }
});
