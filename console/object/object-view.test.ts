import assert from 'node:assert/strict';
import { test } from 'node:test';
import { kubectl, kubectlName } from './object-view.ts';

test('names of an address are quoted in the command that people copy', () => {
  const place = { cluster: 'a', group: '', version: 'v1', plural: 'pods', namespace: 'shop', name: 'web' };
  assert.equal(`${kubectl(place)} get ${kubectlName(place)}`, 'kubectl --context portcullis-a -n shop get pods/web');
  const evil = { ...place, cluster: 'a;id', namespace: '$(id)', plural: 'pods|id', name: "w'b" };
  assert.equal(
    `${kubectl(evil)} get ${kubectlName(evil)}`,
    String.raw`kubectl --context 'portcullis-a;id' -n '$(id)' get 'pods|id/w'\''b'`,
  );
});
