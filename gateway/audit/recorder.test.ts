import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GatewayError } from '../../model/errors.ts';
import { makeUser } from '../../model/user.ts';
import type { User } from '../../model/user.ts';
import { outgoingUser } from '../../auth/rules/impersonation.ts';
import { AuditRecorder } from './recorder.ts';
import { makeAuditCounts } from './metrics.ts';
import type { AuditCounts } from './metrics.ts';
import { noOverflowPolicy } from './overflow.ts';
import { readAuditPolicy } from './policy.ts';
import type { AuditSink } from './sinks/sink.ts';
import type { Audit } from './recorder.ts';
import type { Authenticated } from '../../request/exchange.ts';
import { parseTarget } from '../../request/path.ts';
import { isLongRunning, requestInfo } from '../../request/request-info.ts';
import { route } from '../../request/routes.ts';

interface Event {
  readonly stage: string;
  readonly verb: string;
  readonly user: { readonly username?: string };
  readonly impersonatedUser?: { readonly username: string; readonly groups?: readonly string[] };
  readonly responseStatus?: { readonly code: number; readonly message?: string; readonly reason?: string };
  readonly annotations?: Readonly<Record<string, string>>;
}

const alice = makeUser({ name: 'alice', groups: ['dev', 'system:authenticated'] });
const pods = '/clusters/m1/proxy/api/v1/namespaces/default/pods';

/** A sink that keeps what it is given, and an audit log over it. */
function start(policy: object = {}): { audit: Audit; counts: AuditCounts; events(): Event[]; full: boolean } {
  const lines: string[] = [];
  const counts = makeAuditCounts(['log']);
  const sink: AuditSink = {
    name: 'log',
    get accepting() {
      return !started.full;
    },
    write: (line) => void lines.push(line),
    flush: () => Promise.resolve(),
    close: () => undefined,
  };
  const text = JSON.stringify({
    apiVersion: 'audit.k8s.io/v1',
    kind: 'Policy',
    rules: [{ level: 'Metadata' }],
    ...policy,
  });
  const parsed = readAuditPolicy(text, 'policy.yaml');
  const audit = new AuditRecorder({ policy: () => parsed, overflow: () => noOverflowPolicy, sinks: [sink], counts });
  const started = { audit, counts, full: false, events: () => lines.map((line) => JSON.parse(line) as Event) };
  return started;
}

/** The state of a request behind `authenticate`; later steps add to it. */
function request(method: string, path: string) {
  const target = parseTarget(path);
  const surface = route(target, undefined);
  const segments = surface.kind === 'member' ? surface.segments : target.segments;
  const info = requestInfo(method, segments, target.query, false);
  const cluster = surface.kind === 'member' ? surface.cluster : '';
  return {
    inbound: { method, target: path, headers: ['User-Agent', 'test'], body: 'none' },
    peer: { address: '192.0.2.1', certificates: [] },
    auditId: 'an-id',
    receivedAtMs: performance.now(),
    progress: {
      status: 0,
      sentAtMs: 0,
      firstByteAtMs: 0,
      bytesIn: 0,
      bytesOut: 0,
      ending: 'open',
      onAnswering: undefined as (() => void) | undefined,
    },
    observation: {
      cluster,
      longRunning: isLongRunning(info),
      error: undefined as unknown,
      authorization: undefined as unknown,
      audit: undefined,
    },
    ...{ target, surface, info, upgrade: undefined, caller: alice },
    user: undefined as User | undefined,
    outgoing: undefined as User | undefined,
  };
}

type Request = ReturnType<typeof request>;
const state = (one: Request): Authenticated => one as unknown as Authenticated;

/** Lets a request be answered as the steps do. */
function answer({ progress }: Request, status: number): void {
  progress.status = status;
  progress.onAnswering?.();
}

test('a short request has two events, a long-running one three, each when its stage comes', () => {
  const { audit, events } = start();
  const short = request('GET', pods);
  void audit.begin(state(short));
  assert.deepEqual(
    events().map(({ stage }) => stage),
    ['RequestReceived'],
  );
  answer(short, 200);
  assert.equal(events().length, 1);
  audit.end(state(short));
  assert.deepEqual(
    events().map(({ stage }) => stage),
    ['RequestReceived', 'ResponseComplete'],
  );

  const watch = request('GET', `${pods}?watch=true`);
  void audit.begin(state(watch));
  answer(watch, 200);
  assert.deepEqual(
    events()
      .slice(2)
      .map(({ stage }) => stage),
    ['RequestReceived', 'ResponseStarted'],
  );
  watch.progress.ending = 'drained';
  watch.observation.error = new GatewayError('UNAUTHENTICATED', 'the token was revoked');
  audit.end(state(watch));
  const last = events().at(-1)!;
  assert.equal(last.stage, 'ResponseComplete');
  assert.equal(last.responseStatus?.code, 200);
  assert.equal(last.annotations?.['gateway.portcullis.io/ending'], 'drained');
  assert.equal(last.annotations?.['gateway.portcullis.io/reason'], 'the token was revoked');
});

test('stages that the policy leaves out are left out', () => {
  const { audit, events } = start({ omitStages: ['RequestReceived', 'ResponseStarted'] });
  const watch = request('GET', `${pods}?watch=true`);
  void audit.begin(state(watch));
  answer(watch, 200);
  audit.end(state(watch));
  assert.deepEqual(
    events().map(({ stage }) => stage),
    ['ResponseComplete'],
  );
});

test('a fault of ours ends at Panic', () => {
  const { audit, events } = start();
  const one = request('GET', pods);
  void audit.begin(state(one));
  one.observation.error = new GatewayError('INTERNAL', 'an internal error occurred', { cause: new Error('secret') });
  answer(one, 500);
  audit.end(state(one));
  assert.deepEqual(
    events().map(({ stage, responseStatus }) => [stage, responseStatus?.code]),
    [
      ['RequestReceived', undefined],
      ['Panic', 500],
    ],
  );
  assert.ok(!JSON.stringify(events()).includes('secret'));
});

test('a request without a credential has one event without a user, by the rules for nobody', () => {
  const { audit, events, counts } = start({
    rules: [{ level: 'None', nonResourceURLs: ['/version'] }, { level: 'Metadata' }],
  });
  for (const path of [pods, '/version']) {
    const one = request('GET', path);
    one.observation.error = new GatewayError('UNAUTHENTICATED', 'Unauthorized');
    answer(one, 401);
    audit.end(state({ ...one, caller: undefined as unknown as User }));
  }
  const [event, ...others] = events();
  assert.deepEqual(others, []);
  assert.deepEqual([event!.stage, event!.user], ['ResponseStarted', {}]);
  assert.equal(event!.responseStatus?.message, 'Authentication failed, no credentials provided');
  assert.deepEqual([counts.none, counts.metadata], [1, 1]);
});

test('the user is the caller; the impersonated user is the one the cluster saw, when it is another', () => {
  const { audit, events } = start({ omitStages: ['RequestReceived'] });
  const run = (user: User, outgoing: User | undefined): Event => {
    const one = request('GET', pods);
    void audit.begin(state(one));
    one.user = user;
    one.outgoing = outgoing;
    answer(one, 200);
    audit.end(state(one));
    return events().at(-1)!;
  };
  assert.equal(run(alice, outgoingUser(alice)).impersonatedUser, undefined, 'the same identity, otherwise written');
  const bob = makeUser({ name: 'bob', groups: ['night', 'system:authenticated'] });
  const asBob = run(bob, outgoingUser(bob));
  assert.equal(asBob.user.username, 'alice');
  assert.deepEqual(asBob.impersonatedUser, { username: 'bob', groups: ['night', 'system:authenticated'] });
  const lessened = makeUser({ name: 'alice', groups: [] });
  assert.deepEqual(
    run(alice, lessened).impersonatedUser?.groups,
    ['system:authenticated'],
    'groups that did not go out',
  );
  assert.equal(run(bob, undefined).impersonatedUser?.username, 'bob', 'refused or answered before anybody was asked');
});

test('what is decided once holds to the end of the request (FLT-18)', () => {
  const started = start();
  const change = request('DELETE', `${pods}/web`);
  void started.audit.begin(state(change));
  started.full = true;
  answer(change, 200);
  started.audit.end(state(change));
  assert.equal(started.events().length, 2, 'a change that was let in is recorded by a full sink');
  assert.throws(
    () => started.audit.begin(state(request('DELETE', `${pods}/web`))),
    (error) => error instanceof GatewayError && error.code === 'AUDIT_UNAVAILABLE' && error.status === 503,
  );
  const read = request('GET', pods);
  void started.audit.begin(state(read));
  started.full = false;
  answer(read, 200);
  started.audit.end(state(read));
  assert.deepEqual(
    started
      .events()
      .slice(2)
      .map(({ stage }) => stage),
    ['ResponseComplete'],
    'as much of a read as there is room for',
  );
  assert.equal(started.counts.dropped.get('log'), 1);
  assert.equal(started.counts.refused, 1);
});

test('a policy that records by path sees a path as the cluster reads it, however it is spelled (ATT-55)', () => {
  const started = start({ rules: [{ level: 'Metadata', nonResourceURLs: ['/logs/*'] }] });
  for (const path of ['/logs/a', '/%6cogs/%61', '/metrics']) {
    const asked = request('GET', `/clusters/m1/proxy${path}`);
    void started.audit.begin(state(asked));
    answer(asked, 200);
    started.audit.end(state(asked));
  }
  assert.equal(started.events().filter(({ stage }) => stage === 'ResponseComplete').length, 2);
});
