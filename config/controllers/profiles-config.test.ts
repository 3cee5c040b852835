import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readProfilesConfig } from './profiles-config.ts';
import { flagsAlone } from '../settings/settings.ts';

function read(given: Readonly<Record<string, unknown>>) {
  const faults: string[] = [];
  const config = readProfilesConfig(flagsAlone(given, (flag, message) => void faults.push(`${flag} ${message}`)));
  return { config, faults };
}

test('ClusterProfiles are off unless asked for, and then in the namespace that is given', () => {
  const profilesAddress = 'https://door.example.com/';
  assert.deepEqual(read({}), { config: undefined, faults: [] });
  assert.deepEqual(read({ publishClusterProfiles: false }), { config: undefined, faults: [] });
  for (const [publishClusterProfiles, namespace] of [
    [true, 'portcullis-system'],
    ['inventory', 'inventory'],
  ] as const) {
    const { config, faults } = read({ publishClusterProfiles, profilesAddress });
    assert.deepEqual(faults, []);
    assert.deepEqual([config!.namespace, config!.address], [namespace, 'https://door.example.com']);
    assert.deepEqual(config!.lease, { namespace: 'portcullis-system', name: 'portcullis-profiles' });
  }
});

test('what cannot be published says what to do', () => {
  for (const [given, words] of [
    [{ publishClusterProfiles: true }, /^--profiles-address must be given/],
    [{ publishClusterProfiles: true, profilesAddress: 'http://door' }, /^--profiles-address "http:\/\/door" is not/],
    [{ publishClusterProfiles: true, profilesAddress: 'https://a:b@door' }, /^--profiles-address .* without user/],
    [{ publishClusterProfiles: 'Not/One', profilesAddress: 'https://door' }, /is not the name of a namespace$/],
    [{ profilesLease: 'a/b' }, /^--profiles-lease is only used with --publish-cluster-profiles/],
  ] as const)
    assert.match(read(given).faults.join('\n'), words);
});
