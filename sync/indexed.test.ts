import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GatewayError } from '../model/errors.ts';
import { makeBreaker } from '../routing/call/breaker.ts';
import { type } from './follow/follow.fixture.ts';
import { indexedOf } from './indexed.ts';
import { setbackOf } from './member/member-faults.ts';
import { ownCredential } from './member/sync-types.ts';
import { mendCommand } from './member/read-as.ts';
import type { ClusterState, SyncFault, TypeState } from './member/sync-types.ts';

const well: TypeState = {
  type,
  isChosen: true,
  phase: 'watching',
  isWhole: true,
  objects: 3,
  rate: 0,
  lagMs: 0,
  confirmedAtMs: 1,
  fault: undefined,
  readAs: 'portcullis:index',
};
const faultOf = (reason: SyncFault['reason'], message: string = reason): SyncFault => ({ reason, message });

function shown(types: readonly TypeState[], fault?: SyncFault): readonly [string, string, string, string] {
  const state: ClusterState = { cluster: 'm1', uid: 'u', incarnation: undefined, fault, types, refused: [] };
  const { summary, status, reason, message } = indexedOf(state, mendCommand('m1'));
  return [summary, status, reason, message];
}

test('a cluster that is followed is Synced, and its condition says as whom it is read', () => {
  assert.deepEqual(shown([well, well]), ['Synced', 'True', 'Synced', '2 types are followed as portcullis:index']);
  const own = shown([well, { ...well, readAs: ownCredential }]);
  assert.deepEqual(own.slice(0, 3), ['Synced', 'True', 'Synced']);
  assert.match(own[3], /1 of them read as the gateway's own credential.*--apply --context m1$/);
});

test('a cluster with objects that the index cannot store is Synced, and its condition says so without a name or number', () => {
  const leftOut = { count: 7, example: 'shop/x (its name has 600 bytes, more than 512)' };
  const [summary, status, reason, message] = shown([well, { ...well, leftOut }]);
  assert.deepEqual([summary, status, reason], ['Synced', 'True', 'Synced']);
  assert.match(message, /^2 types are followed as portcullis:index; objects that the index cannot store are left out/);
  assert.doesNotMatch(message, /shop|7/);
});

test('one that is read for the first time shows its share in tens', () => {
  const listing: TypeState = { ...well, isWhole: false, phase: 'listing', listed: { done: 60, of: 100 } };
  assert.deepEqual(shown([well, well, listing, { ...listing, listed: { done: 0, of: 0 } }]).slice(0, 3), [
    'Syncing 60 %',
    'False',
    'Syncing',
  ]);
  assert.equal(shown([])[0], 'Syncing 0 %');
});

test('what is forbidden is shown with its command, also where all else is there', () => {
  const message = `the list of pods of cluster "m1" is forbidden to portcullis:index; an administrator of it runs: ${mendCommand()}`;
  const forbidden = { ...well, isWhole: false, phase: 'failing', fault: faultOf('Forbidden', message) } as const;
  const [summary, status, reason, text] = shown([well, forbidden]);
  assert.deepEqual([summary, status, reason], ['Forbidden', 'False', 'Forbidden']);
  assert.equal(
    text,
    `1 of 2 types are forbidden to portcullis:index; an administrator of the cluster runs: ${mendCommand('m1')}`,
  );
  assert.equal(shown([], faultOf('Forbidden', message))[3], message.replace('CONTEXT', 'm1'));
});

test('rows that are kept without being confirmed are Stale; without rows there is nothing to call so', () => {
  const failing = { ...well, phase: 'failing', fault: faultOf('Refused', 'the list of secret-things failed') } as const;
  const [summary, status, reason, message] = shown([well, failing]);
  assert.deepEqual([summary, status, reason], ['Stale', 'False', 'Stale']);
  assert.doesNotMatch(message, /secret-things/, 'types are not named to whoever may list clusters');
  assert.equal(shown([well], faultOf('Unavailable'))[0], 'Stale');
  assert.deepEqual(shown([], faultOf('Unavailable', 'no answer')), ['-', 'False', 'Unavailable', 'no answer']);
});

test('a type that the cluster does not have is not missed', () => {
  assert.equal(shown([well, { ...well, isWhole: false, phase: 'failing', fault: faultOf('Missing') }])[0], 'Synced');
});

test('a cluster with an option that cannot be read says so, whatever else is there', () => {
  const fault = faultOf('InvalidOptions', 'nothing is indexed: entry 1 of its annotation cannot be read');
  assert.deepEqual(shown([well], fault), ['-', 'False', 'InvalidOptions', fault.message]);
});

test('the fault of a cluster that stays unreachable has the same words whether it was asked or not', () => {
  const breaker = makeBreaker('m1');
  const refused = new GatewayError('MEMBER_UNAVAILABLE', 'connection refused by https://m1');
  for (let each = 0; each < 3; each += 1) breaker.fail(refused);
  assert.throws(
    () => breaker.enter(),
    (error: unknown) => {
      assert.notEqual((error as Error).message, refused.message);
      assert.deepEqual(setbackOf(error, 'm1', 'index').fault, setbackOf(refused, 'm1', 'index').fault);
      return true;
    },
  );
});
