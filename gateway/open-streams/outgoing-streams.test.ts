import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GatewayError } from '../../model/errors.ts';
import type { ClusterRecord, ClusterSpec } from '../../model/records.ts';
import type { ClusterListener } from '../../model/cluster-events.ts';
import { makeUser } from '../../model/user.ts';
import type { User } from '../../model/user.ts';
import { startOutgoingStreams } from './outgoing-streams.ts';

const ann = makeUser({ name: 'ann' });
const bob = makeUser({ name: 'bob' });
const specOf = (name: string, identityExchange?: string): ClusterSpec =>
  ({ name, uid: `uid-${name}`, ...(identityExchange !== undefined && { identityExchange }) }) as ClusterSpec;

/** Streams over clusters m1 and m2, and who goes out as whom; `mapped` is asked like the real rules. */
function setting() {
  const specs = new Map([specOf('m1'), specOf('m2')].map((spec) => [spec.uid, spec]));
  const mapped = new Map<string, User | GatewayError>();
  let rulesChanged = (): void => assert.fail('nobody listens');
  let storeChanged: ClusterListener = () => assert.fail('nobody listens');
  const identity = (user: User, { name }: ClusterSpec): User => {
    const found = mapped.get(`${user.name}@${name}`) ?? user;
    if (found instanceof GatewayError) throw found;
    return found;
  };
  const streams = startOutgoingStreams(
    { identity, onChange: (listener) => (rulesChanged = listener) },
    {
      getByUid: (uid) => (specs.has(uid) ? ({ spec: specs.get(uid)! } as ClusterRecord) : undefined),
      subscribe(listener) {
        storeChanged = listener;
        return () => undefined;
      },
    },
  );
  return {
    mapped,
    specs,
    changeRules: () => rulesChanged(),
    changeCluster(spec: ClusterSpec) {
      specs.set(spec.uid, spec);
      storeChanged({ type: 'MODIFIED', record: { spec } as ClusterRecord });
    },
    open(user: User, cluster: string): string[] {
      const ended: string[] = [];
      const spec = specs.get(`uid-${cluster}`)!;
      const stream = {
        user,
        cluster: spec,
        outgoing: identity(user, spec),
        end: (reason: GatewayError) => {
          ended.push(reason.code);
          streams.forget(stream);
        },
      };
      streams.follow(stream);
      return ended;
    },
  };
}

test('a changed rule ends the streams of the users and clusters it names, and no others', () => {
  const made = setting();
  const [annThere, annElsewhere, bobThere] = [made.open(ann, 'm1'), made.open(ann, 'm2'), made.open(bob, 'm1')];
  made.changeRules();
  assert.deepEqual([annThere, annElsewhere, bobThere], [[], [], []]);
  made.mapped.set('ann@m1', makeUser({ name: 'mapped' }));
  made.changeRules();
  assert.deepEqual([annThere, annElsewhere, bobThere], [['IDENTITY_REFUSED'], [], []]);
});

test('a stream whose identity is the same after a change stays open', () => {
  const made = setting();
  made.mapped.set('ann@m1', makeUser({ name: 'mapped', groups: ['g'] }));
  const ended = made.open(ann, 'm1');
  made.mapped.set('ann@m1', makeUser({ name: 'mapped', groups: ['g'] }));
  made.changeRules();
  assert.deepEqual(ended, []);
  made.mapped.set('ann@m1', makeUser({ name: 'mapped', groups: ['g', 'h'] }));
  made.changeRules();
  assert.deepEqual(ended, ['IDENTITY_REFUSED']);
});

test("a cluster's changed annotation ends its streams; a change of anything else asks nobody", () => {
  const made = setting();
  const ended = made.open(ann, 'm1');
  made.mapped.set('ann@m1', new GatewayError('CLUSTER_UNUSABLE', 'bad rules'));
  made.changeCluster(specOf('m1'));
  made.changeCluster(specOf('m2', '{'));
  assert.deepEqual(ended, []);
  made.changeCluster(specOf('m1', '{'));
  assert.deepEqual(ended, ['CLUSTER_UNUSABLE']);
});
