// When the rows of a type count as confirmed. An API server may send no bookmark at all, and an open watch alone proves
// nothing.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fill, pods, site, timing, until } from './follow.fixture.ts';

describe('a follower', () => {
  it('what is confirmed is what is committed', async (t) => {
    const { member, store, start, agree } = site(t);
    fill(member, 2);
    let clock = 1000;
    const follower = await start({ now: () => clock });
    await agree();
    await until(() => assert.equal(follower.state().phase, 'watching'));
    assert.equal(follower.state().confirmedAtMs, 1000);
    clock = 2000;
    member.bookmark(pods);
    await until(() => assert.equal(follower.state().confirmedAtMs, 2000));
    const open = Promise.withResolvers<void>();
    store.gate = () => open.promise;
    clock = 3000;
    member.put(pods, { namespace: 'a', name: 'p1' });
    member.bookmark(pods);
    await until(() => assert.ok(follower.state().lagMs > 0));
    assert.equal(follower.state().confirmedAtMs, 2000);
    open.resolve();
    await until(() => assert.equal(follower.state().confirmedAtMs, 3000));
  });

  it('a watch without any bookmark is confirmed by the version of now, when that is where it is', async (t) => {
    const { member, start, agree } = site(t);
    fill(member, 2);
    let clock = 1000;
    const follower = await start({ now: () => clock, timing: { ...timing, quietMs: 1, unconfirmedMs: 5 } });
    await agree();
    await until(() => assert.equal(follower.state().phase, 'watching'));
    clock = 2000;
    await until(() => assert.equal(follower.state().confirmedAtMs, 2000));
  });

  it('a member that has gone on elsewhere is asked, which moves its cache, and only its bookmark confirms', async (t) => {
    const services = '/api/v1/services';
    const { member, start, agree } = site(t);
    fill(member, 2);
    let clock = 1000;
    const follower = await start({ now: () => clock, timing: { ...timing, quietMs: 1, unconfirmedMs: 5 } });
    await agree();
    await until(() => assert.equal(follower.state().phase, 'watching'));
    member.put(services, { namespace: 'a', name: 'other' });
    clock = 2000;
    const before = member.asked.length;
    await until(() => assert.ok(member.asked.length > before + 3));
    assert.equal(follower.state().confirmedAtMs, 1000);
    member.bookmark(pods);
    await until(() => assert.equal(follower.state().confirmedAtMs, 2000));
  });
});
