import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { GatewayError } from '../../model/errors.ts';
import { makeUser } from '../../model/user.ts';
import type { User } from '../../model/user.ts';
import { markRepeated } from '../../http/repeated-headers.ts';
import { makeStaticTokenAuthenticator, parseTokenFile } from './static-token.ts';
import type { TokenEntry } from './static-token.ts';

const request = (...rawHeaders: string[]) => ({ rawHeaders, peerCertificates: [], tlsAuthorized: false });
const withToken = (token: string) => request('Authorization', `Bearer ${token}`);

/** The user of a token; undefined when the authenticator refuses it or has no opinion. */
function finder(entries: readonly TokenEntry[]): (token: string) => User | undefined {
  const { authenticate } = makeStaticTokenAuthenticator(entries);
  return (token) => {
    try {
      return authenticate(withToken(token)) as User | undefined;
    } catch (error) {
      assert.ok(error instanceof GatewayError && error.code === 'UNAUTHENTICATED');
      return undefined;
    }
  };
}

/** Message of the error that reading the text throws. */
function faultsOf(text: string): string {
  try {
    parseTokenFile(text, 'tokens.csv');
  } catch (error) {
    assert.ok(error instanceof GatewayError && error.code === 'INVALID');
    return error.message;
  }
  assert.fail('no fault was found');
}

describe("kube-apiserver's own token file cases", () => {
  const text = `
token1,user1,uid1
token2,user2,uid2
token3,user3,uid3,"group1,group2"
token4,user4,uid4,"group2"
token5,user5,uid5,group5
token6,user6,uid6,group5,otherdata
token7,user7,uid7,"group1,group2",otherdata
`;
  const expected: readonly (readonly [string, User | undefined])[] = [
    ['token1', makeUser({ name: 'user1', uid: 'uid1' })],
    ['token2', makeUser({ name: 'user2', uid: 'uid2' })],
    ['token3', makeUser({ name: 'user3', uid: 'uid3', groups: ['group1', 'group2'] })],
    ['token4', makeUser({ name: 'user4', uid: 'uid4', groups: ['group2'] })],
    ['token5', makeUser({ name: 'user5', uid: 'uid5', groups: ['group5'] })],
    ['token6', makeUser({ name: 'user6', uid: 'uid6', groups: ['group5'] })],
    ['token7', makeUser({ name: 'user7', uid: 'uid7', groups: ['group1', 'group2'] })],
    ['token8', undefined],
  ];
  const find = finder(parseTokenFile(text, 'tokens.csv').entries);
  for (const [token, user] of expected) {
    test(`${token} is ${user === undefined ? 'nobody' : user.name}`, () => assert.deepEqual(find(token), user));
  }
  test('TestBadTokenFile: every short record is named, with its line', () => {
    const message = faultsOf('\ntoken1,user1,uid1\ntoken2,user2,uid2\ntoken3,user3\ntoken4\n');
    assert.match(
      message,
      /tokens\.csv:4: at least 3 columns .*found 2\n {2}tokens\.csv:5: at least 3 columns .*found 1/,
    );
  });
  test('TestInsufficientColumnsTokenFile', () => assert.match(faultsOf('token4\n'), /tokens\.csv:1: .*found 1/));
  test('TestEmptyTokenTokenFile: a blank token is skipped with a warning', () => {
    const { entries, warnings } = parseTokenFile(',user5,uid5\n', 'tokens.csv');
    assert.deepEqual(entries, []);
    assert.match(warnings.join(), /tokens\.csv:1: the token is blank/);
  });
});

test('of equal tokens the last counts, and the operator is told where', () => {
  const { entries, warnings } = parseTokenFile('t,first,1\n\nt,second,2\n', 'tokens.csv');
  assert.deepEqual(
    entries.map((entry) => entry.user.name),
    ['second'],
  );
  assert.match(warnings.join(), /^tokens\.csv:3: /);
});

test('the operator may hand out any name but ours', () => {
  const { entries } = parseTokenFile('t,system:admin,1,"system:masters,dev"', 'tokens.csv');
  assert.deepEqual(entries[0]?.user.groups, ['system:masters', 'dev']);
  assert.match(faultsOf('t,portcullis:probe,1'), /tokens\.csv:1: .*reserved/);
  assert.match(faultsOf('t,bob,1,portcullis:x'), /tokens\.csv:1: .*reserved/);
});

test('a record that makes no identity is a fault', () => {
  assert.match(faultsOf('t,,1'), /tokens\.csv:1: the user name is empty/);
  assert.match(faultsOf('t, bob,1'), /tokens\.csv:1: the user name starts or ends with white space/);
  assert.match(faultsOf('t,bob,1,"a, b"'), /tokens\.csv:1: the group starts or ends with white space/);
  assert.match(faultsOf('"t\nu",bob,1'), /tokens\.csv:1: the token contains white space/);
  assert.match(faultsOf('t,b\ufffdb,1'), /tokens\.csv:1: the record is not valid UTF-8/);
  assert.match(faultsOf('\ufefft,bob,1'), /tokens\.csv:1: the file begins with a byte order mark/);
  assert.match(faultsOf('t,bob,1\nu,bo"b,1\n'), /tokens\.csv:2: a quote stands inside/);
});

test('faults never show a token', () => {
  const secret = 'sEcReTtOkEn';
  const texts = [
    `${secret}\n`,
    `${secret},,1`,
    `${secret},a"b,1`,
    `"${secret} x",bob,1`,
    `"${secret}`,
    `${secret}, b,1`,
  ];
  for (const text of texts) assert.ok(!faultsOf(text).includes(secret), text);
  const { warnings } = parseTokenFile(`${secret},a,1\n${secret},a,1\n`, 'tokens.csv');
  assert.ok(!warnings.join().includes(secret));
});

test('a known token is its user, an unknown one is refused, none is no opinion', () => {
  const { authenticate } = makeStaticTokenAuthenticator(parseTokenFile('t,bob,1', 'f').entries);
  assert.deepEqual(authenticate(withToken('t')), makeUser({ name: 'bob', uid: '1' }));
  assert.equal(authenticate(request('Accept', '*/*')), undefined);
  assert.throws(
    () => authenticate(withToken('secret-guess')),
    (error) =>
      error instanceof GatewayError && error.code === 'UNAUTHENTICATED' && !error.message.includes('secret-guess'),
  );
});

test('names of object properties are not tokens', () => {
  const find = finder([]);
  for (const token of ['constructor', '__proto__', 'toString', '']) assert.equal(find(token), undefined);
});

test('tokens are compared as bytes', () => {
  const find = finder(parseTokenFile('tökén,bob,1', 'f').entries);
  assert.equal(find(Buffer.from('tökén', 'utf8').toString('latin1'))?.name, 'bob');
  assert.equal(find('tökén'), undefined);
});

test('a reload takes effect for the next request, all at once', () => {
  const tokens = makeStaticTokenAuthenticator(parseTokenFile('old,bob,1\nboth,carol,2', 'f').entries);
  tokens.replace(parseTokenFile('new,alice,1\nboth,dave,2', 'f').entries);
  assert.throws(() => tokens.authenticate(withToken('old')), GatewayError);
  const name = (token: string) => (tokens.authenticate(withToken(token)) as User).name;
  assert.deepEqual([name('new'), name('both')], ['alice', 'dave']);
});

test('a token may come as a WebSocket subprotocol; the header goes first, and a good one makes up for a bad one', () => {
  const { authenticate } = makeStaticTokenAuthenticator(parseTokenFile('t,bob,1\nu,alice,2', 'f').entries);
  const socket = (token: string, ...headers: string[]) => {
    const item = `base64url.bearer.authorization.k8s.io.${Buffer.from(token).toString('base64url')}`;
    const handshake = [
      'Connection',
      'Upgrade',
      'Upgrade',
      'websocket',
      'Sec-WebSocket-Protocol',
      `${item}, v5.channel.k8s.io`,
    ];
    return request(...handshake, ...headers);
  };
  const name = (asked: ReturnType<typeof request>) => (authenticate(asked) as User).name;
  assert.equal(name(socket('t')), 'bob');
  assert.equal(name(socket('t', 'Authorization', 'Bearer u')), 'alice');
  assert.equal(name(socket('t', 'Authorization', 'Bearer unknown')), 'bob');
  assert.throws(() => authenticate(socket('unknown')), GatewayError);
});

test('a reload counts at once for a connection that repeats its headers', () => {
  const tokens = makeStaticTokenAuthenticator(parseTokenFile('t,bob,1', 'f').entries);
  const again = withToken('t');
  markRepeated(again.rawHeaders);
  assert.equal((tokens.authenticate(again) as User).name, 'bob');
  tokens.replace(parseTokenFile('t,alice,2', 'f').entries);
  assert.equal((tokens.authenticate(again) as User).name, 'alice');
  tokens.replace([]);
  assert.throws(() => tokens.authenticate(again), GatewayError);
});
