import assert from 'node:assert/strict';
import test from 'node:test';
import { makeUser } from '../../model/user.ts';
import { makeAuditClock } from './clock.ts';
import { auditedUserAgent, eventLine } from './event.ts';
import type { AuditEvent } from './event.ts';
import { sourceIPs } from './source-ips.ts';
import { auditedUri } from './uri.ts';
import { eventList } from './sinks/webhook-client.ts';

const event: AuditEvent = {
  auditId: 'an-id',
  stage: 'ResponseComplete',
  requestUri: '/clusters/m1/proxy/api/v1/pods',
  verb: 'list',
  user: makeUser({ name: 'alice', uid: 'u1', groups: ['dev'], extra: [['scopes', ['a', 'b']]] }),
  impersonatedUser: makeUser({ name: 'bob' }),
  sourceIPs: ['192.0.2.1'],
  userAgent: 'kubectl/v1.36',
  objectRef: {
    resource: 'pods',
    namespace: 'default',
    name: '',
    uid: '',
    apiGroup: '',
    apiVersion: 'v1',
    resourceVersion: '',
    subresource: '',
  },
  responseStatus: { code: 200 },
  requestReceivedTimestamp: '2026-01-02T03:04:05.000006Z',
  stageTimestamp: '2026-01-02T03:04:05.000007Z',
  annotations: [['authorization.k8s.io/decision', 'allow']],
};

test('an event is one line in the fields and order of kube-apiserver', () => {
  assert.equal(
    eventLine(event),
    '{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","auditID":"an-id","stage":"ResponseComplete",' +
      '"requestURI":"/clusters/m1/proxy/api/v1/pods","verb":"list",' +
      '"user":{"username":"alice","uid":"u1","groups":["dev"],"extra":{"scopes":["a","b"]}},' +
      '"impersonatedUser":{"username":"bob"},"sourceIPs":["192.0.2.1"],"userAgent":"kubectl/v1.36",' +
      '"objectRef":{"resource":"pods","namespace":"default","apiVersion":"v1"},' +
      '"responseStatus":{"metadata":{},"code":200},"requestReceivedTimestamp":"2026-01-02T03:04:05.000006Z",' +
      '"stageTimestamp":"2026-01-02T03:04:05.000007Z","annotations":{"authorization.k8s.io/decision":"allow"}}',
  );
});

test('text from outside cannot break out of its field in a line', () => {
  const strange = '"},\n{"user":{"username":"root"}}\u2028\ud800';
  const line = eventLine({ ...event, userAgent: strange, requestUri: strange, annotations: [['__proto__', strange]] });
  assert.equal(line.split('\n').length, 1);
  const read = JSON.parse(line) as { userAgent: string; requestURI: string; user: { username: string } };
  assert.equal(read.userAgent, strange);
  assert.equal(read.requestURI, strange);
  assert.equal(read.user.username, 'alice');
  assert.ok(line.includes('"__proto__":"'), 'an annotation is a key whatever its name');
});

test('a webhook gets items without kind, as kube-apiserver sends them', () => {
  const list = JSON.parse(eventList([eventLine(event), eventLine(event)]).toString('utf8')) as {
    kind: string;
    items: { kind?: string; auditID: string }[];
  };
  assert.equal(list.kind, 'EventList');
  assert.deepEqual(
    list.items.map(({ kind, auditID }) => [kind, auditID]),
    [
      [undefined, 'an-id'],
      [undefined, 'an-id'],
    ],
  );
});

test('timestamps have microseconds, stay in order, and follow a clock that was set', () => {
  let wallMs = Date.UTC(2026, 0, 1);
  let monotonicMs = 1000;
  const clock = makeAuditClock(
    () => Math.floor(wallMs),
    () => monotonicMs,
  );
  const seen: string[] = [];
  for (let i = 0; i < 50; i++) {
    wallMs += 0.3;
    monotonicMs += 0.3;
    seen.push(clock(monotonicMs));
  }
  assert.deepEqual(seen.toSorted(), seen);
  assert.equal(new Set(seen).size, 50);
  wallMs += 3_600_000;
  assert.match(clock(monotonicMs), /^2026-01-01T01:00:00\.015\d{3}Z$/);
});

test('a user agent is read as UTF-8 and cut where kube-apiserver cuts it', () => {
  assert.equal(auditedUserAgent(undefined), '');
  assert.equal(auditedUserAgent(Buffer.from('grüße').toString('latin1')), 'grüße');
  assert.equal(auditedUserAgent('x'.repeat(1024)), 'x'.repeat(1024));
  assert.equal(auditedUserAgent('x'.repeat(1025)), `${'x'.repeat(1024)}...TRUNCATED`);
});

test('values of parameters that Kubernetes does not know are not recorded (ATT-32)', () => {
  for (const [target, expected] of [
    ['/api/v1/pods', undefined],
    ['/api/v1/pods?', undefined],
    ['/api/v1/pods?limit=500&labelSelector=a%3Db&continue=xyz', undefined],
    ['/api/v1/namespaces/a/pods/b/exec?command=sh&command=-c&stdin=true&tty=true', undefined],
    ['/x?token=SECRET', '/x?token=REDACTED'],
    ['/x?limit=5&access_token=SECRET&watch=1', '/x?limit=5&access_token=REDACTED&watch=1'],
    ['/x?SECRET', '/x?REDACTED'],
    ['/x?Token=SECRET', '/x?Token=REDACTED'],
    ['/x?%74oken=SECRET', '/x?REDACTED'],
    ['/x?limit=5;token=SECRET', '/x?limit=REDACTED'],
    ['/x?=SECRET', '/x?REDACTED'],
    ['/x?a=b=SECRET', '/x?a=REDACTED'],
    ['/x?y?token=SECRET', '/x?REDACTED'],
    ['/x?__proto__=SECRET&constructor=SECRET', '/x?REDACTED&constructor=REDACTED'],
  ] as const) {
    assert.equal(auditedUri(target), expected ?? target);
  }
});

test("source addresses stand in kube-apiserver's order, the connection's last", () => {
  assert.deepEqual(sourceIPs([], '127.0.0.1'), ['127.0.0.1']);
  assert.deepEqual(sourceIPs([], '::ffff:192.0.2.1'), ['192.0.2.1']);
  const headers = ['X-Forwarded-For', '192.0.2.1, nonsense, 2001:db8::1', 'X-Real-Ip', '192.0.2.9'];
  assert.deepEqual(sourceIPs(headers, '127.0.0.1'), ['192.0.2.1', '2001:db8::1', '192.0.2.9', '127.0.0.1']);
  assert.deepEqual(sourceIPs(['x-forwarded-for', '127.0.0.1'], '127.0.0.1'), ['127.0.0.1']);
  assert.equal(sourceIPs(['x-forwarded-for', '192.0.2.1,'.repeat(10_000)], '127.0.0.1').length, 33);
});
