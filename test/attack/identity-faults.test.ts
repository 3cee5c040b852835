// Whatever goes wrong while the identity of a request is found, not one byte of it reaches a member. The real chain and
// the real transport run with one part replaced by a broken one.
import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { allowAuthenticated } from '../../auth/rules/authorize.ts';
import type { Authorizer } from '../../auth/rules/authorize.ts';
import { makeIdentityExchange } from '../../auth/outgoing/identity-exchange.ts';
import type { IdentityExchange } from '../../auth/outgoing/identity-exchange.ts';
import { makeOutgoingRules, outgoingIdentity } from '../../auth/outgoing/outgoing.ts';
import type { OutgoingSettings } from '../../auth/outgoing/outgoing.ts';
import type { ClusterRecord, ClusterSpec, Credential } from '../../model/records.ts';
import { unknownStatus } from '../../model/store.ts';
import { makeUser } from '../../model/user.ts';
import type { User } from '../../model/user.ts';
import { chain } from '../../gateway/chain.ts';
import { run } from '../../gateway/run-chain.ts';
import type { Arrival } from '../../http/arrival.ts';
import { makeLog } from '../../lib/log.ts';
import { AdmissionControl } from '../../gateway/limits/admission.ts';
import { readLimitsConfig } from '../../config/sections/limits-config.ts';
import { flagsAlone } from '../../config/settings/settings.ts';
import type { ChainDependencies } from '../../gateway/steps/chain-dependencies.ts';
import type { Inbound } from '../../http/inbound.ts';
import { makeOpenStreams } from '../../routing/forward/open-streams.ts';
import { makeConnections } from '../../routing/members/target.ts';
import type { Connections } from '../../routing/members/target.ts';
import { makeTestAuthority } from '../pretend/certificates.ts';
import { makeTransport } from '../../routing/pools/transport.ts';
import { startMember } from '../site/member.ts';
import type { Member } from '../site/member.ts';

const alice = makeUser({ name: 'alice', groups: ['dev', 'system:authenticated'] });
const good: Credential = { authorization: 'Bearer gateway', clientCertificate: undefined, expiresAtMs: undefined };
let member: Member;
let connections: Connections;

before(async () => {
  member = await startMember(await makeTestAuthority());
  connections = makeConnections((spec, credential) =>
    makeTransport({
      clusterName: spec.name,
      endpoint: spec.endpoint!,
      tls: spec.tls,
      proxy: spec.proxy,
      clientCertificate: credential.clientCertificate,
    }),
  );
});

after(() => {
  connections.close('abort');
  member.close();
});

afterEach(() => void member.requests.splice(0));

/** Parts of the chain that a fault may be put into. */
interface Fault {
  readonly authenticate?: () => unknown;
  readonly authorize?: () => unknown;
  readonly credential?: () => unknown;
  readonly record?: () => unknown;
  /** In place of the whole decision who goes out. */
  readonly outgoing?: () => unknown;
  /** In place of the exchange rules. */
  readonly exchange?: () => unknown;
  /** The cluster's own exchange rules. */
  readonly annotation?: string;
  readonly usernameOnly?: boolean;
  readonly headers?: readonly string[];
}

/** Runs one request through the real chain; resolves with the status of its answer. */
async function statusWith(fault: Fault): Promise<number> {
  const spec: ClusterSpec = {
    name: 'm1',
    originalName: 'm1',
    uid: 'uid-1',
    source: 'test',
    sourceDetail: 'test',
    labels: {},
    endpoint: { scheme: 'https', host: '127.0.0.1', port: member.port, basePath: '' },
    tls: { ca: member.ca, serverName: undefined, insecure: false },
    proxy: undefined,
    credential: { kind: 'token', current: (fault.credential ?? (() => good)) as () => Credential, invalidate() {} },
    transportKey: 'one',
    ...(fault.annotation === undefined ? {} : { identityExchange: fault.annotation }),
    problem: undefined,
  };
  const settings: OutgoingSettings = {
    trust: { forwardSystemMasters: false, serviceAccountIdentity: 'prefixed' },
    exchange:
      fault.exchange === undefined
        ? makeIdentityExchange([], { privilegedUser: undefined, usernameOnly: false })
        : ({ concerns: () => true, exchange: fault.exchange, fault: () => undefined } as IdentityExchange),
    extra: undefined,
    usernameOnly: fault.usernameOnly === true,
  };
  const outgoingRules = makeOutgoingRules(settings);
  const record: ClusterRecord = { spec, status: unknownStatus, createdAt: '', resourceVersion: '1' };
  const dependencies: ChainDependencies = {
    authenticate: (async () => (fault.authenticate ?? (() => alice))()) as () => Promise<User>,
    authorizer: (fault.authorize === undefined ? allowAuthenticated() : { authorize: fault.authorize }) as Authorizer,
    admission: new AdmissionControl(readLimitsConfig(flagsAlone({}, assert.fail))),
    clusters: {
      get: (fault.record ?? (() => record)) as () => ClusterRecord,
      list: () => [],
      subscribe: () => () => {},
    },
    connections,
    outgoingIdentity: (fault.outgoing ??
      ((user: User, cluster: ClusterSpec) =>
        outgoingIdentity(user, cluster, outgoingRules))) as ChainDependencies['outgoingIdentity'],
    openStreams: makeOpenStreams(),
    metrics: { begin() {}, end() {} } as unknown as ChainDependencies['metrics'],
    log: makeLog('silent'),
    answerLocally: () => undefined,
    clusterDomain: undefined,
    firstByteTimeoutMs: 5_000,
    refusing: () => false,
  };
  const { promise, resolve } = Promise.withResolvers<number>();
  let answered = false;
  const inbound: Inbound = {
    method: 'GET',
    target: '/clusters/m1/proxy/api/v1/secrets',
    headers: ['Host', 'gateway.test', 'Authorization', 'Bearer alice', ...(fault.headers ?? [])],
    protocol: 'HTTP/1.1',
    body: 'none',
    get answered() {
      return answered;
    },
    closed: false,
    readBody() {},
    pauseBody() {},
    resumeBody() {},
    respond(status) {
      answered = true;
      resolve(status);
    },
    write: () => true,
    end() {},
    abort: () => resolve(0),
    onDrain() {},
    onClose() {},
  };
  const arrival: Arrival = {
    inbound,
    upgradeInbound: undefined,
    host: 'gateway.test',
    peer: { address: '127.0.0.1', serverName: '', certificates: [], tlsAuthorized: false },
    headFault: undefined,
  };
  run(chain, arrival, dependencies);
  return promise;
}

const boom = (): never => {
  throw new Error('boom');
};
const later = (value: unknown) => async (): Promise<unknown> => value;
/** A user that no authenticator could have made. */
const broken = (change: object) => (): unknown => ({ ...alice, ...change });
/** One that is written as it is, since the member would add no group by itself. */
const unsettled = (change: object): Fault => ({
  authenticate: broken({ groups: ['dev'], ...change }),
  authorize: () => ({ allowed: true, reason: 'test' }),
});

/** A cluster's annotation with one rule. */
const annotated = (rule: object): string =>
  JSON.stringify({
    spec: {
      clientIdentityExchanger: {
        rules: [
          { type: 'StaticMappingIdentityExchanger', source: { user: 'alice' }, target: { user: 'ann' }, ...rule },
        ],
      },
    },
  });

const faults: Readonly<Record<string, Fault>> = {
  'authentication throws': { authenticate: boom },
  'authentication gives nobody': { authenticate: () => undefined },
  'authentication gives null': { authenticate: () => null },
  'authentication gives an empty object': { authenticate: () => ({}) },
  'the user name is empty': { authenticate: broken({ name: '' }) },
  'the user name is missing': { authenticate: broken({ name: undefined }) },
  'the user name is null': { authenticate: broken({ name: null }) },
  'the user name is a list': { authenticate: broken({ name: ['alice'] }) },
  'the user name is white space': { authenticate: broken({ name: ' ' }) },
  'the user name begins with a blank': { authenticate: broken({ name: ' admin' }) },
  'the user name ends with a tab': { authenticate: broken({ name: 'admin\t' }) },
  'the user name ends with a no-break space': { authenticate: broken({ name: 'admin\u00a0' }) },
  'the user name splits the header': { authenticate: broken({ name: 'a\r\nImpersonate-Group: system:masters' }) },
  'the user name holds NUL': { authenticate: broken({ name: 'a\u0000' }) },
  'the user name holds DEL': { authenticate: broken({ name: 'a\u007f' }) },
  'the user name holds a line separator': { authenticate: broken({ name: 'a\u2028b' }) },
  'the user name holds a lone surrogate': { authenticate: broken({ name: 'a\ud800' }) },
  'the user name is missing and the groups are unsettled': unsettled({ name: undefined }),
  'the user name is null and the groups are unsettled': unsettled({ name: null }),
  'the user name is a list and the groups are unsettled': unsettled({ name: ['alice'] }),
  'the user name is empty and the groups are unsettled': unsettled({ name: '' }),
  'the user name splits the header and the groups are unsettled': unsettled({ name: 'a\r\nb' }),
  'a group is missing among unsettled ones': unsettled({ groups: ['dev', undefined] }),
  'a group is empty among unsettled ones': unsettled({ groups: ['dev', ''] }),
  'the uid splits the header beside unsettled groups': unsettled({ uid: 'a\r\nb' }),
  'an extra value is missing beside unsettled groups': unsettled({ extra: [['scopes', [undefined]]] }),
  'a group is missing': { authenticate: broken({ groups: [undefined, 'system:authenticated'] }) },
  'a group splits the header': { authenticate: broken({ groups: ['a\r\nb', 'system:authenticated'] }) },
  'the groups are missing': { authenticate: broken({ groups: undefined }) },
  'the groups cannot be read': {
    authenticate: () => Object.defineProperty({ ...alice }, 'groups', { get: boom }),
  },
  'the uid is white space': { authenticate: broken({ uid: ' ' }) },
  'an extra value splits the header': { authenticate: broken({ extra: [['scopes', ['a\nb']]] }) },
  'an extra value is missing': { authenticate: broken({ extra: [['scopes', [undefined]]] }) },
  'authorization throws': { authorize: boom },
  'authorization rejects': { authorize: async () => boom() },
  'authorization says nothing': { authorize: () => undefined },
  'authorization says nothing later': { authorize: later(undefined) },
  'authorization allows nothing': { authorize: () => ({ allowed: false, reason: '' }) },
  'authorization answers something else': { authorize: () => ({ reason: 'fine' }) },
  'the record cannot be read': { record: boom },
  'the record has no endpoint': { record: () => ({ spec: { name: 'm1' } }) },
  'the credential throws': { credential: boom },
  'the credential rejects': { credential: async () => boom() },
  'the credential is missing': { credential: () => undefined },
  'the outgoing identity throws': { outgoing: boom },
  'the outgoing identity is nobody': { outgoing: () => undefined },
  'the outgoing identity has no name': { outgoing: () => ({ ...alice, name: '' }) },
  'the outgoing identity is a promise': { outgoing: later(alice) },
  'the exchange throws': { exchange: boom },
  'the exchange gives an empty user': { exchange: broken({ name: '' }) },
  'the exchange gives a user without a name': { exchange: () => ({ groups: ['admins'] }) },
  'the exchange gives a name that splits the header': { exchange: broken({ name: 'a\r\nb', groups: ['dev'] }) },
  'the exchange answers later': { exchange: later(alice) },
  "the cluster's exchange rules are empty": { annotation: '' },
  "the cluster's exchange rules are no YAML": { annotation: '{' },
  "the cluster's exchange rules are of another kind": { annotation: 'kind: Secret' },
  "the cluster's exchange rules map to nobody": { annotation: annotated({ target: { user: '' } }) },
  "the cluster's exchange rules map to groups only": { annotation: annotated({ target: { groups: ['ops'] } }) },
  "the cluster's exchange rules are privileged": { annotation: annotated({ type: 'PrivilegedIdentityExchanger' }) },
  "the cluster's exchange rules ask outside": { annotation: annotated({ type: 'ExternalIdentityExchanger' }) },
  "the cluster's exchange rules split a header": { annotation: annotated({ target: { user: 'a\r\nb' } }) },
  'a name alone would authenticate somebody': {
    authenticate: broken({ groups: ['system:unauthenticated'] }),
    authorize: () => ({ allowed: true, reason: 'test' }),
    usernameOnly: true,
  },
  'the empty user is impersonated': { headers: ['Impersonate-User', ''] },
  'nobody is impersonated in a group': { headers: ['Impersonate-Group', 'system:masters'] },
};

for (const [name, fault] of Object.entries(faults)) {
  test(`${name}: an error, and nothing reaches the member (ATT-01)`, async () => {
    const status = await statusWith(fault);
    assert.ok(status >= 400 && status < 600, `answered ${status}`);
    assert.deepEqual(
      member.requests.map(({ head }) => head),
      [],
    );
  });
}

test('without a fault the request does reach the member, with the identity (ATT-01)', async () => {
  assert.equal(await statusWith({}), 200);
  assert.deepEqual(member.requests[0]?.values('impersonate-user'), ['alice']);
  assert.deepEqual(member.requests[0]?.values('impersonate-group'), ['dev']);
});

test('with good exchange rules the member sees whom they name, and nothing of the caller (ATT-01)', async () => {
  assert.equal(await statusWith({ annotation: annotated({}) }), 200);
  assert.deepEqual(member.requests[0]?.values('impersonate-user'), ['ann']);
  assert.deepEqual(member.requests[0]?.values('impersonate-group'), []);
});

test('a character whose low byte is a line feed goes out as its UTF-8 bytes (ATT-01)', async () => {
  assert.equal(await statusWith({ authenticate: broken({ name: 'a\u010aX: y' }) }), 200);
  assert.deepEqual(member.requests[0]?.values('impersonate-user'), ['a\u00c4\u008aX: y']);
});
