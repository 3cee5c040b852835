import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { GatewayError } from '../../model/errors.ts';
import type { ClusterRecord } from '../../model/records.ts';
import { makeUser } from '../../model/user.ts';
import { makeBreaker } from '../call/breaker.ts';
import { callMember, readWhole } from './member-call.ts';
import type { MemberCall } from './member-call.ts';
import type { Target } from './target.ts';
import type { ResponseHandler, UpstreamRequest } from '../call/transport-types.ts';

const alice = makeUser({ name: 'alice', groups: ['dev'] });

/** A target whose transport only notes what is done with it. */
function fakeTarget(): {
  readonly target: Target;
  readonly sent: { readonly request: UpstreamRequest; readonly handler: ResponseHandler }[];
  readonly events: string[];
} {
  const sent: { readonly request: UpstreamRequest; readonly handler: ResponseHandler }[] = [];
  const events: string[] = [];
  const spec = {
    name: 'm1',
    endpoint: { scheme: 'https', host: '10.0.0.1', port: 6443, basePath: '/base' },
    credential: { invalidate: () => events.push('invalidate') },
  };
  const target = {
    record: { spec } as unknown as ClusterRecord,
    credential: { authorization: 'Bearer own', clientCertificate: undefined, expiresAtMs: undefined },
    connection: {
      breaker: makeBreaker('m1'),
      transport: {
        send(request: UpstreamRequest, handler: ResponseHandler) {
          sent.push({ request, handler });
          return {
            write: (chunk: Buffer) => events.push(`write ${chunk.toString()}`) > 0,
            end: () => events.push('end'),
            pause: () => events.push('pause'),
            resume: () => events.push('resume'),
            abort: () => events.push('abort'),
          };
        },
      },
    },
  } as unknown as Target;
  return { target, sent, events };
}

const list: MemberCall = {
  identity: alice,
  method: 'GET',
  path: '/api/v1/pods?limit=5',
  headers: ['Accept', 'application/json', 'Authorization', 'Bearer of-the-caller', 'Impersonate-User', 'root'],
  timeoutMs: 10_000,
  longRunning: false,
};

describe('callMember', () => {
  it('sends as the given user, with nothing of what a caller claimed', async () => {
    const { target, sent } = fakeTarget();
    const asked = callMember(target, { ...list, auditId: 'a-1' });
    const { request, handler } = sent[0]!;
    handler.onHeaders(200, []);
    (await asked).cancel();
    assert.equal(request.target, '/base/api/v1/pods?limit=5');
    const impersonated = ['Impersonate-User', 'alice', 'Impersonate-Group', 'dev', 'Authorization', 'Bearer own'];
    const copied = ['Host', '10.0.0.1:6443', 'Accept', 'application/json', 'Audit-ID', 'a-1'];
    assert.deepEqual(request.headers, [...copied, ...impersonated]);
  });

  it('sends as itself only when told so', async () => {
    const { target, sent } = fakeTarget();
    const asked = callMember(target, { ...list, identity: 'self' });
    sent[0]!.handler.onHeaders(200, []);
    (await asked).cancel();
    assert.equal(sent[0]!.request.headers.includes('Impersonate-User'), false);
    assert.ok(sent[0]!.request.headers.includes('Bearer own'));
  });

  it('sends nothing when there is nobody to send it as', async () => {
    const { target, sent } = fakeTarget();
    const nobody = { ...alice, name: '' };
    await assert.rejects(callMember(target, { ...list, identity: nobody }), { code: 'IDENTITY_REFUSED' });
    await assert.rejects(callMember(target, { ...list, identity: undefined as never }));
    assert.equal(sent.length, 0);
  });

  it('gives the status, the headers and the whole body', async () => {
    const { target, sent, events } = fakeTarget();
    const asked = callMember(target, { ...list, method: 'POST', body: Buffer.from('{}') });
    const { handler, request } = sent[0]!;
    assert.equal(request.body, 2);
    handler.onHeaders(201, ['Content-Type', 'application/json']);
    handler.onData(Buffer.from('{"a":'));
    handler.onData(Buffer.from('1}'));
    handler.onEnd();
    const answer = await asked;
    assert.equal(answer.status, 201);
    assert.deepEqual(answer.headers, ['Content-Type', 'application/json']);
    assert.equal((await readWhole(answer, 100)).toString(), '{"a":1}');
    assert.deepEqual(events, ['write {}', 'end']);
  });

  it('holds the member back while the reader is slow', async () => {
    const { target, sent, events } = fakeTarget();
    const asked = callMember(target, list);
    const { handler } = sent[0]!;
    handler.onHeaders(200, []);
    const answer = await asked;
    handler.onData(Buffer.alloc(40_000));
    assert.deepEqual(events, []);
    handler.onData(Buffer.alloc(40_000));
    assert.deepEqual(events, ['pause']);
    const reader = answer.chunks[Symbol.asyncIterator]();
    await reader.next();
    assert.deepEqual(events, ['pause', 'resume']);
    handler.onData(Buffer.alloc(40_000));
    assert.deepEqual(events, ['pause', 'resume', 'pause']);
  });

  it('gives the member up when its reader stops early or reads too much', async () => {
    for (const stop of ['break', 'too long', 'cancel'] as const) {
      const { target, sent, events } = fakeTarget();
      const asked = callMember(target, list);
      sent[0]!.handler.onHeaders(200, []);
      sent[0]!.handler.onData(Buffer.from('too much'));
      const answer = await asked;
      if (stop === 'cancel') answer.cancel();
      else if (stop === 'too long') await assert.rejects(readWhole(answer, 3), { code: 'MEMBER_BAD_RESPONSE' });
      else for await (const _ of answer.chunks) break;
      assert.deepEqual(events, ['abort']);
    }
  });

  it('tells a cut answer from a complete one, after what came of it', async () => {
    const { target, sent } = fakeTarget();
    const asked = callMember(target, list);
    const { handler } = sent[0]!;
    handler.onHeaders(200, []);
    handler.onData(Buffer.from('half'));
    handler.onError(new GatewayError('MEMBER_UNAVAILABLE', 'cut'), true);
    const answer = await asked;
    let read = '';
    await assert.rejects(async () => {
      for await (const piece of answer.chunks) read += piece.toString();
    }, /cut/);
    assert.equal(read, 'half');
  });

  it('looks for another credential when the member refuses ours, and follows no redirect', async () => {
    const { target, sent, events } = fakeTarget();
    const refused = callMember(target, list);
    sent[0]!.handler.onHeaders(401, []);
    await assert.rejects(refused, { code: 'MEMBER_CREDENTIAL' });
    const redirected = callMember(target, list);
    sent[1]!.handler.onHeaders(302, ['location', 'https://elsewhere/']);
    await assert.rejects(redirected, { code: 'MEMBER_REDIRECT' });
    assert.deepEqual(events, ['invalidate', 'abort', 'abort']);
  });

  it('ends at its deadlines and with its signal', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const { target, sent, events } = fakeTarget();
    const late = callMember(target, { ...list, timeoutMs: 50 });
    t.mock.timers.tick(50);
    await assert.rejects(late, { code: 'MEMBER_TIMEOUT' });
    const endless = callMember(target, { ...list, timeoutMs: 50, wholeTimeoutMs: 80 });
    sent[1]!.handler.onHeaders(200, []);
    t.mock.timers.tick(80);
    await assert.rejects(readWhole(await endless, 10), { code: 'MEMBER_TIMEOUT' });
    const gone = new AbortController();
    const given = callMember(target, { ...list, signal: gone.signal });
    gone.abort(new Error('the client is gone'));
    await assert.rejects(given, /the client is gone/);
    await assert.rejects(callMember(target, { ...list, signal: gone.signal }), /the client is gone/);
    assert.deepEqual(events, ['abort', 'abort', 'abort']);
  });

  it('asks the breaker and tells it what it learned; the probe goes past it', async () => {
    const { target, sent, events } = fakeTarget();
    const { breaker } = target.connection;
    const failing = [1, 2, 3].map(() => callMember(target, list));
    for (const { handler } of sent) handler.onError(new GatewayError('MEMBER_REFUSED', 'refused'), false);
    for (const one of failing) await assert.rejects(one, { code: 'MEMBER_REFUSED' });
    assert.equal(breaker.state, 'open');
    await assert.rejects(callMember(target, list), /gets no requests at the moment/);
    assert.equal(sent.length, 3);
    const probe = callMember(target, { ...list, isProbe: true });
    sent[3]!.handler.onSent?.(false);
    assert.equal(breaker.state, 'open', 'a connection is not yet an answer');
    sent[3]!.handler.onHeaders(401, []);
    assert.equal((await probe).status, 401);
    assert.equal(breaker.state, 'open');
    assert.deepEqual(events, []);
  });
});
