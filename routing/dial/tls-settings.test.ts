import assert from 'node:assert/strict';
import type { TLSSocket } from 'node:tls';
import { before, describe, it } from 'node:test';
import type { ClusterSpec, Credential } from '../../model/records.ts';
import { makeConnections } from '../members/target.ts';
import { makeTestAuthority } from '../../test/pretend/certificates.ts';
import type { TestAuthority, TestCertificate } from '../../test/pretend/certificates.ts';
import { getRequest, memberOptions, recordingHandler, response, startTestMember } from '../pools/member.fixture.ts';
import { makeSharedTlsSettings, UnreadableAuthority } from './tls-settings.ts';
import type { TlsParts } from './tls-settings.ts';
import { makeTransport, transportParts } from '../pools/transport.ts';
import type { Transport } from '../call/transport-types.ts';

let authority: TestAuthority;
let other: TestAuthority;
let one: TestCertificate;
let two: TestCertificate;
let parts: TlsParts;

before(async () => {
  authority = await makeTestAuthority();
  other = await makeTestAuthority('another authority');
  one = await authority.issue(['gateway']);
  two = await authority.issue(['gateway']);
  parts = { authorities: [authority.ca], systemRoots: false, clientCertificate: one };
});

async function get(transport: Transport): Promise<string> {
  const { handler, done } = recordingHandler();
  transport.send(getRequest('/'), handler);
  const { body, error } = await done;
  return error === undefined ? body : error.code;
}

describe('shared TLS settings', () => {
  it('are one object for equal parts, and another as soon as one byte of them differs', () => {
    const shared = makeSharedTlsSettings();
    const first = shared.hold(parts);
    assert.equal(shared.hold({ ...parts, clientCertificate: { ...one } }).secureContext, first.secureContext);
    assert.equal(shared.size, 1);
    const different: TlsParts[] = [
      { ...parts, authorities: [other.ca] },
      { ...parts, authorities: [authority.ca, other.ca] },
      { ...parts, authorities: [`${authority.ca}\n${other.ca}`] },
      { ...parts, authorities: [`${authority.ca}\n`] },
      { ...parts, clientCertificate: two },
      { ...parts, clientCertificate: undefined },
      { ...parts, authorities: [], clientCertificate: undefined },
    ];
    const contexts = new Set([first, ...different.map((each) => shared.hold(each))].map((held) => held.secureContext));
    assert.equal(contexts.size, different.length + 1);
    assert.equal(shared.size, different.length + 1);
  });

  it('are let go with the last that holds them, however often one says so', () => {
    const shared = makeSharedTlsSettings();
    const [first, second] = [shared.hold(parts), shared.hold(parts)];
    first.release();
    first.release();
    assert.equal(shared.size, 1);
    assert.equal(shared.hold(parts).secureContext, second.secureContext);
    second.release();
    assert.equal(shared.size, 1, 'the third still holds them');
  });

  it('are not remembered when they cannot be made', () => {
    const shared = makeSharedTlsSettings();
    assert.throws(() => shared.hold({ ...parts, authorities: ['rubbish'] }), UnreadableAuthority);
    assert.throws(() => shared.hold({ ...parts, clientCertificate: { cert: one.cert, key: two.key } }));
    assert.equal(shared.size, 0);
  });

  it('share no TLS session: a cluster with another server name is verified by that name, and resumes nothing', async (t) => {
    const reused: boolean[] = [];
    const member = await startTestMember({
      tls: await authority.issue(['east', 'west']),
      onConnection: (socket) => reused.push((socket as TLSSocket).isSessionReused()),
      answer: (_head, socket) => socket.end(response('ok', 'HTTP/1.1 200 OK\r\nConnection: close')),
    });
    t.after(() => member.close());
    const tlsSettings = makeSharedTlsSettings();
    const to = (serverName: string): Transport =>
      makeTransport({
        ...memberOptions(member, {}, authority.ca),
        tls: { ca: authority.ca, serverName, insecure: false },
        tlsSettings,
      });
    const [east, west, south] = [to('east'), to('west'), to('south')];
    assert.deepEqual([await get(east), await get(east)], ['ok', 'ok']);
    assert.equal(tlsSettings.size, 1);
    assert.equal(await get(west), 'ok');
    assert.equal(await get(south), 'MEMBER_TLS', 'no name of its certificate');
    assert.equal(tlsSettings.size, 1);
    for (const transport of [east, west, south]) transport.close('abort');
    assert.deepEqual(reused.slice(0, 3), [false, true, false]);
    assert.equal(tlsSettings.size, 0);
  });

  it('follow the records of clusters: a new authority or certificate is another, and nothing is left of a cluster that is gone', async (t) => {
    const member = await startTestMember({
      tls: await authority.issue(['ip:127.0.0.1']),
      answer: (_head, socket) => socket.write(response('ok')),
    });
    t.after(() => member.close());
    const tlsSettings = makeSharedTlsSettings();
    const connections = makeConnections((spec, credential) =>
      makeTransport({ ...transportParts(spec, credential), tlsSettings }),
    );
    const spec = (uid: string, ca: string): ClusterSpec => ({
      name: uid,
      originalName: uid,
      uid,
      source: 'test',
      sourceDetail: '',
      labels: {},
      endpoint: { scheme: 'https', host: '127.0.0.1', port: member.port, basePath: '' },
      tls: { ca, serverName: undefined, insecure: false },
      proxy: undefined,
      credential: undefined,
      transportKey: ca,
      problem: undefined,
    });
    const bearer: Credential = { authorization: 'Bearer t', clientCertificate: undefined, expiresAtMs: undefined };
    const ask = (uid: string, ca: string, credential = bearer): Promise<string> =>
      get(connections.of(spec(uid, ca), credential).transport);

    assert.deepEqual([await ask('a', authority.ca), await ask('b', authority.ca)], ['ok', 'ok']);
    assert.equal(tlsSettings.size, 1);
    assert.equal(await ask('a', other.ca), 'MEMBER_TLS', 'b goes on with what a had');
    assert.equal(await ask('b', authority.ca), 'ok');
    assert.equal(tlsSettings.size, 2);
    assert.equal(await ask('b', authority.ca, { ...bearer, clientCertificate: one }), 'ok');
    assert.equal(tlsSettings.size, 2, 'that of b without a certificate is gone');
    connections.drop('a');
    assert.equal(tlsSettings.size, 1);
    connections.drop('b');
    assert.equal(tlsSettings.size, 0);
  });

  it('are not taken again by a transport that was closed while a request still needed them', async (t) => {
    const member = await startTestMember({
      tls: await authority.issue(['ip:127.0.0.1']),
      answer: (_head, socket) => socket.write(response('ok')),
    });
    t.after(() => member.close());
    const tlsSettings = makeSharedTlsSettings();
    const transport = makeTransport({ ...memberOptions(member, {}, authority.ca), tlsSettings });
    transport.close('drain');
    assert.equal(await get(transport), 'ok');
    assert.equal(tlsSettings.size, 0);
    transport.close('abort');
  });
});
