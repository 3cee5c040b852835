import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ClusterRecord, ClusterSpec } from '../../model/records.ts';
import { makeBreaker } from '../../routing/call/breaker.ts';
import { AnswerTooLong } from '../../routing/members/member-call.ts';
import type { Connections } from '../../routing/members/target.ts';
import type { ResponseHandler } from '../../routing/call/transport-types.ts';
import { makeMemberClient } from './member-client.ts';

const mebibyte = 1024 * 1024;
const nothing = (): void => undefined;
const spec = {
  ...{ name: 'm1', uid: 'u', credential: { current: () => ({ authorization: 'Bearer t' }), invalidate: nothing } },
  endpoint: { scheme: 'https', host: '10.0.0.1', port: 6443, basePath: '' },
} as unknown as ClusterSpec;

/** A client of a member that answers so many MiB of `text` to everything, as long as somebody reads. */
function clientOf(mebibytes: number, text = ' ') {
  const send = (_: unknown, handler: ResponseHandler): object => {
    const ended = new AbortController();
    setImmediate(() => {
      handler.onHeaders(200, []);
      for (let sent = 0; sent < mebibytes && !ended.signal.aborted; sent += 1)
        handler.onData(Buffer.alloc(mebibyte, text));
      if (!ended.signal.aborted) handler.onEnd();
    });
    const abort = (): void => ended.abort();
    return { write: () => true, end: nothing, pause: nothing, resume: nothing, abort };
  };
  const connection = { breaker: makeBreaker('m1'), transport: { send } };
  const connections = { of: () => connection } as unknown as Connections;
  const record = (): ClusterRecord => ({ spec }) as ClusterRecord;
  return makeMemberClient({ cluster: 'm1', record, connections }, () => 'self');
}

test('a member that answers more than 3 MiB to a request for one object is not read on; a list may be longer (ATT-63)', async () => {
  const call = { method: 'GET', path: '/api/v1/namespaces/n/configmaps/c', timeoutMs: 10_000 } as const;
  assert.equal((await clientOf(3).request(call)).body.length, 3 * mebibyte);
  await assert.rejects(clientOf(4).request(call), AnswerTooLong);
  assert.equal((await clientOf(4).request({ ...call, mostBytes: 8 * mebibyte })).body.length, 4 * mebibyte);
  await assert.rejects(clientOf(9).request({ ...call, mostBytes: 8 * mebibyte }), AnswerTooLong);
});

test('an answer of a member with millions of values is refused before anybody parses it (ATT-67)', async () => {
  const list = { method: 'GET', path: '/api/v1/configmaps', timeoutMs: 10_000, mostBytes: 64 * mebibyte } as const;
  await assert.rejects(clientOf(7, '{},').request(list), /JSON with more than 2000000 values/);
});
