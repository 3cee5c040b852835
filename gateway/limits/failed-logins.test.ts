import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AuthenticationRequest } from '../../auth/callers/authentication-request.ts';
import { GatewayError } from '../../model/errors.ts';
import { makeUser } from '../../model/user.ts';
import type { User } from '../../model/user.ts';
import { guardLogins } from './failed-logins.ts';

const alice = makeUser({ name: 'alice' });
const anonymous = makeUser({ name: 'system:anonymous', groups: ['system:unauthenticated'] });

function setting() {
  const clock = { nowMs: 0 };
  let asked = 0;
  const slow = Promise.withResolvers<User>();
  const guarded = guardLogins(
    (request): User | Promise<User> => {
      asked += 1;
      const [, token] = request.rawHeaders;
      if (token === 'good') return alice;
      if (token === 'nobody') return anonymous;
      if (token === 'reviewed') return Promise.resolve(alice);
      if (token === 'slow') return slow.promise;
      const bad = new GatewayError('UNAUTHENTICATED', 'bad');
      if (token === 'reviewed bad') return Promise.reject(bad);
      throw token === 'hub down' ? new GatewayError('HUB_UNAVAILABLE', 'down') : bad;
    },
    () => clock.nowMs,
  );
  const login = async (token: string, connection: object): Promise<number> => {
    try {
      const request: AuthenticationRequest = {
        rawHeaders: ['authorization', token],
        peerCertificates: [],
        tlsAuthorized: false,
        connection,
      };
      await guarded.authenticate(request);
      return 200;
    } catch (error) {
      return (error as GatewayError).status;
    }
  };
  return { login, clock, answer: () => slow.resolve(alice), asked: () => asked, refused: guarded.refused };
}

test('whoever tries tokens is held back after a hundred failures, untried, and one more is tried as time passes', async () => {
  const { login, clock, asked, refused } = setting();
  const from = (n: number): object => ({ address: '192.0.2.7', n });
  const answers: number[] = [];
  for (let i = 0; i < 150; i++) answers.push(await login(i % 2 === 0 ? 'bad' : 'reviewed bad', from(i)));
  assert.deepEqual(
    [answers.filter((code) => code === 401).length, answers.filter((code) => code === 429).length],
    [100, 50],
  );
  assert.equal(asked(), 100);
  assert.equal(refused(), 50);
  clock.nowMs = 100;
  assert.equal(await login('bad', from(200)), 401);
  assert.equal(await login('bad', from(201)), 429);
});

test('a connection that has proved itself is not held back for its neighbours, another address is not either', async () => {
  const { login } = setting();
  const proven = { address: '192.0.2.7' };
  assert.equal(await login('reviewed', proven), 200);
  for (let i = 0; i < 150; i++) await login('bad', { address: '192.0.2.7' });
  assert.equal(await login('good', proven), 200);
  assert.equal(await login('good', { address: '192.0.2.8' }), 200);
  assert.equal(await login('good', { address: '192.0.2.7' }), 429);
});

test('addresses of one IPv6 network count together, and a mapped IPv4 address is the address', async () => {
  const { login } = setting();
  for (let i = 0; i < 100; i++) await login('bad', { address: `2001:db8::${i.toString(16)}` });
  assert.equal(await login('good', { address: '2001:db8::1:2:3:4' }), 429);
  assert.equal(await login('good', { address: '2001:db8:0:1::1' }), 200);
  for (let i = 0; i < 100; i++) await login('bad', { address: '::ffff:192.0.2.9' });
  assert.equal(await login('good', { address: '192.0.2.9' }), 429);
});

test("a hub that cannot be asked is nobody else's failure", async () => {
  const { login } = setting();
  for (let i = 0; i < 200; i++) assert.equal(await login('hub down', { address: '192.0.2.7' }), 503);
  assert.equal(await login('good', { address: '192.0.2.7' }), 200);
});

test('logins that a slow hub has not judged yet are bounded for one address, and go on when it has', async () => {
  const { login, answer } = setting();
  const proven = { address: '192.0.2.7' };
  assert.equal(await login('good', proven), 200);
  const waiting = Array.from({ length: 200 }, () => login('slow', { address: '192.0.2.7' }));
  assert.equal(await login('slow', { address: '192.0.2.7' }), 429);
  const other = [login('slow', { address: '192.0.2.8' }), login('slow', proven)];
  answer();
  assert.ok((await Promise.all([...waiting, ...other])).every((code) => code === 200));
  assert.equal(await login('slow', { address: '192.0.2.7' }), 200);
});

test('whoever was let in without a credential has proved nothing: the connection is held back for failed logins like a new one (ATT-41)', async () => {
  const { login } = setting();
  const connection = { address: '192.0.2.7' };
  assert.equal(await login('nobody', connection), 200);
  const answers: number[] = [];
  for (let i = 0; i < 120; i++) answers.push(await login('bad', connection));
  assert.equal(answers.filter((code) => code === 429).length, 20);
});

test('a connection that has logged in is held back after a hundred failures of its own, and its neighbours are not (ATT-46)', async () => {
  const { login, clock, asked } = setting();
  const [tries, neighbour] = [{ address: '192.0.2.7' }, { address: '192.0.2.7' }];
  assert.deepEqual([await login('good', tries), await login('reviewed', neighbour)], [200, 200]);
  const answers: number[] = [];
  for (let i = 0; i < 600; i++) answers.push(await login(i % 2 === 0 ? 'bad' : 'reviewed bad', tries));
  assert.deepEqual(
    [answers.filter((code) => code === 401).length, answers.filter((code) => code === 429).length],
    [100, 500],
  );
  assert.equal(asked(), 102);
  assert.equal(await login('good', neighbour), 200);
  // A new connection with the good token does not help either.
  assert.equal(await login('good', { address: '192.0.2.7' }), 429);
  clock.nowMs = 100;
  assert.equal(await login('good', tries), 200);
  assert.equal(await login('bad', tries), 401);
  assert.equal(await login('good', tries), 429);
});
