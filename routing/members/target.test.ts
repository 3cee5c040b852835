import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ClusterRecord, ClusterSpec, Credential, CredentialSource } from '../../model/records.ts';
import { unknownStatus } from '../../model/store.ts';
import { locate, makeConnections } from './target.ts';
import type { Transport } from '../call/transport-types.ts';

const spec: ClusterSpec = {
  name: 'm1',
  originalName: 'm1',
  uid: 'uid-1',
  source: 'test',
  sourceDetail: '',
  labels: {},
  endpoint: { scheme: 'https', host: 'a', port: 6443, basePath: '' },
  tls: { ca: undefined, serverName: undefined, insecure: false },
  proxy: { scheme: 'https', host: 'p', port: 1, userinfo: undefined, tls: { cert: 'one', key: 'k' } },
  credential: undefined,
  transportKey: 'same',
  problem: undefined,
};
const credential: Credential = { authorization: 'Bearer t', clientCertificate: undefined, expiresAtMs: undefined };

/** Connections whose transports only record that they were closed. */
function record(): { readonly connections: ReturnType<typeof makeConnections>; readonly closed: string[] } {
  const closed: string[] = [];
  const transport = { close: (mode: string) => void closed.push(mode) } as unknown as Transport;
  return { connections: makeConnections(() => ({ ...transport })), closed };
}

describe('connections of a cluster', () => {
  it('stay while only the token changes or the record is written again', () => {
    const { connections, closed } = record();
    const first = connections.of(spec, credential);
    assert.equal(connections.of(structuredClone(spec), { ...credential, authorization: 'Bearer u' }), first);
    assert.deepEqual(closed, []);
  });

  for (const [what, change] of [
    ['the key of its source', { transportKey: 'other' }],
    ['the certificate of its tunnel', { proxy: { ...spec.proxy!, tls: { cert: 'two', key: 'k' } } }],
    ['a header of its tunnel', { proxy: { ...spec.proxy!, headers: [['x', 'y']] } }],
    ['a fallback', { fallbacks: [{ endpoint: { ...spec.endpoint!, host: 'b' }, tls: spec.tls }] }],
    ['its authority', { tls: { ...spec.tls, ca: 'pem' } }],
  ] as const) {
    it(`are made anew when ${what} changes, and the old ones drained`, () => {
      const { connections, closed } = record();
      const first = connections.of(spec, credential);
      const second = connections.of({ ...spec, ...change }, credential);
      assert.notEqual(second, first);
      assert.equal(second.breaker, first.breaker);
      assert.deepEqual(closed, ['drain']);
    });
  }
});

describe('a cluster whose credential is still being fetched', () => {
  /** Asks for it, changes what is registered while the credential is on its way, and lets that arrive. */
  async function locatedAcross(change: (before: ClusterRecord) => ClusterRecord | undefined): Promise<ClusterSpec> {
    const { promise, resolve } = Promise.withResolvers<Credential>();
    const source = { kind: 'exec', current: () => promise, invalidate: () => undefined } as CredentialSource;
    const before: ClusterRecord = {
      spec: { ...spec, credential: source },
      status: unknownStatus,
      createdAt: '',
      resourceVersion: '1',
    };
    let now: ClusterRecord | undefined = before;
    const made: string[] = [];
    const connections = makeConnections(({ uid }) => {
      made.push(uid);
      return { close: () => undefined } as unknown as Transport;
    });
    const target = locate('m1', () => now, connections);
    now = change(before);
    resolve(credential);
    const { record } = await target;
    assert.deepEqual(made, [record.spec.uid]);
    return record.spec;
  }

  it('is not found when it was removed meanwhile', async () => {
    await assert.rejects(
      locatedAcross(() => undefined),
      { code: 'CLUSTER_NOT_FOUND' },
    );
  });

  it('cannot be used when it was closed meanwhile', async () => {
    const problem = { reason: 'NotAccepted', message: 'the hub does not accept it any more' };
    await assert.rejects(
      locatedAcross((before) => ({ ...before, spec: { ...before.spec, problem } })),
      { code: 'CLUSTER_UNUSABLE' },
    );
  });

  it('is found where it is registered then, and where it was when only its status changed', async () => {
    const endpoint = { ...spec.endpoint!, host: 'elsewhere' };
    const moved = await locatedAcross((before) => ({ ...before, spec: { ...before.spec, endpoint } }));
    assert.equal(moved.endpoint!.host, 'elsewhere');
    assert.equal((await locatedAcross((before) => ({ ...before, resourceVersion: '2' }))).endpoint!.host, 'a');
  });
});
