// Checks before a measurement that a program does all the work: maps the token to a user, impersonates that user, and
// does not pass on the client's credentials. A program that did not impersonate would reach the API server with the
// gateway's own credential, and every sample would be a 403.
import assert from 'node:assert/strict';

import { userGroups } from './names.ts';
import { type Site } from './site.ts';
import { askOnce, type RunningTarget, type Target } from './targets/target.ts';

/** A group that kube-apiserver adds to every impersonated user, whatever the gateway sent. */
const addedByMember = 'system:authenticated';
/** Headers that a client may send to pretend to be somebody else. No program may pass them on. */
const hostile = [
  ['Cookie', 'session=1'],
  ['X-Remote-User', 'system:admin'],
] as const;

/**
 * Asks the API server through the program which user it sees, and with the stub also which headers arrived.
 * @throws Error (rejects) when the API server saw anything but the token's user, impersonated with the gateway's
 * credential
 */
export async function verifyEqualWork(site: Site, target: Target, running: RunningTarget): Promise<void> {
  const review = await askOnce(
    running,
    'POST',
    `${running.prefix}/apis/authentication.k8s.io/v1/selfsubjectreviews`,
    [...running.headers, ['Content-Type', 'application/json']],
    JSON.stringify({ kind: 'SelfSubjectReview', apiVersion: 'authentication.k8s.io/v1' }),
  );
  assert.equal(review.status, 201, `${target.title}: who am I: ${review.status} ${review.body.slice(0, 300)}`);
  const user = (JSON.parse(review.body) as { readonly status: { readonly userInfo: unknown } }).status.userInfo as {
    readonly username: string;
    readonly groups: readonly string[];
  };
  assert.equal(user.username, site.user.name, `${target.title}: the member saw another user`);
  const groups = user.groups.filter((group) => group !== addedByMember);
  assert.deepEqual(groups.sort(), [...userGroups].sort(), `${target.title}: the member saw other groups`);
  // The programs `direct` and `kubectl-proxy` know no users, so they cannot refuse an unknown token.
  if (target.name === 'direct' || running.plain === true) return;
  await refusesStranger(target, running);
  if (site.member.kind === 'stub') await compareHeaders(site, target, running);
}

async function refusesStranger(target: Target, running: RunningTarget): Promise<void> {
  const stranger = running.headers.map(([name, value]) =>
    name === 'Authorization' ? ([name, `${value.slice(0, -1)}g`] as const) : ([name, value] as const),
  );
  const answer = await askOnce(running, 'GET', `${running.prefix}/version`, stranger);
  assert.equal(answer.status, 401, `${target.title}: an unknown token was answered ${answer.status}`);
}

async function compareHeaders(site: Site, target: Target, running: RunningTarget): Promise<void> {
  const answer = await askOnce(running, 'GET', `${running.prefix}/bench/echo`, [...running.headers, ...hostile]);
  assert.equal(answer.status, 200, `${target.title}: echo: ${answer.status} ${answer.body.slice(0, 300)}`);
  const { headers } = JSON.parse(answer.body) as { readonly headers: Readonly<Record<string, readonly string[]>> };
  const expected = {
    Authorization: [`Bearer ${site.member.token}`],
    'Impersonate-User': [site.user.name],
    'Impersonate-Group': [...userGroups],
    Cookie: undefined,
    'X-Remote-User': undefined,
  };
  for (const [name, values] of Object.entries(expected)) {
    assert.deepEqual(headers[name], values, `${target.title}: header ${name} at the member`);
  }
}
