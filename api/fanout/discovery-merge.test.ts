import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { mergedDiscovery } from './discovery-merge.ts';

describe('mergedDiscovery', () => {
  it('holds every group, version and resource that some cluster has, the first cluster’s first', () => {
    const item = (group: string, version: string, ...resources: string[]): object => ({
      metadata: group === '' ? {} : { name: group },
      versions: [{ version, resources: resources.map((resource) => ({ resource })), freshness: 'Current' }],
    });
    const one = { kind: 'APIGroupDiscoveryList', items: [item('', 'v1', 'pods'), item('apps', 'v1', 'deployments')] };
    const other = {
      kind: 'APIGroupDiscoveryList',
      items: [item('apps', 'v1', 'deployments', 'more'), item('apps', 'v2', 'new'), item('x', 'v1', 'xs')],
    };
    const merged = mergedDiscovery('aggregated', [one, other]) as {
      items: { metadata: { name?: string }; versions: { version: string; resources: { resource: string }[] }[] }[];
    };
    const text = merged.items.map(({ metadata, versions }) => [
      metadata.name ?? '',
      ...versions.map(({ version, resources }) => `${version}: ${resources.map(({ resource }) => resource).join()}`),
    ]);
    assert.deepEqual(text, [
      ['', 'v1: pods'],
      ['apps', 'v1: deployments,more', 'v2: new'],
      ['x', 'v1: xs'],
    ]);
  });

  it('joins the old documents in the same way and leaves out what has another shape', () => {
    assert.deepEqual(mergedDiscovery('api', [{ versions: ['v1'] }, { versions: ['v1', 'v2'] }, null, []]), {
      versions: ['v1', 'v2'],
    });
    const group = (name: string, ...versions: string[]): object => ({
      name,
      versions: versions.map((version) => ({ groupVersion: `${name}/${version}`, version })),
      preferredVersion: { version: versions[0] },
    });
    const merged = mergedDiscovery('apis', [
      { groups: [group('a', 'v2')] },
      { groups: [group('a', 'v1'), group('b', 'v1'), 5] },
      { groups: 'x' },
    ]);
    assert.deepEqual(merged, {
      groups: [{ ...group('a', 'v2', 'v1') }, { ...group('b', 'v1') }],
    });
    const resources = mergedDiscovery('resources', [
      { resources: [{ name: 'pods', verbs: ['list'] }] },
      { resources: [{ name: 'pods' }, { name: 'x' }] },
    ]);
    assert.deepEqual(resources, { resources: [{ name: 'pods', verbs: ['list'] }, { name: 'x' }] });
    const paths = mergedDiscovery('openapi-v3', [
      { paths: { 'api/v1': 1 } },
      { paths: { 'api/v1': 2, 'apis/x/v1': 3 } },
    ]);
    assert.deepEqual(paths, { paths: { 'api/v1': 1, 'apis/x/v1': 3 } });
  });
});
