import assert from 'node:assert/strict';
import { test } from 'node:test';
import { refusedImpersonation } from './warning.ts';

const cases: readonly (readonly [message: string, warning: RegExp])[] = [
  [
    String.raw`users \"alice\" is forbidden: User \"gw\" cannot impersonate resource \"users\" in API group \"\" at the cluster scope`,
    /verb \\"impersonate\\" on resource \\"users\\" in apiGroup \\"\\"/,
  ],
  [
    String.raw`userextras.authentication.k8s.io \"x\" is forbidden: User \"gw\" cannot impersonate resource \"userextras/scopes\" in API group \"authentication.k8s.io\" at the cluster scope`,
    /resource \\"userextras\/scopes\\" in apiGroup authentication.k8s.io/,
  ],
  [
    String.raw`pods is forbidden: User \"gw\" cannot impersonate-on:user-info:list resource \"pods\" in API group \"\" at the cluster scope`,
    /verb \\"impersonate-on:user-info:list\\" on resource \\"pods\\"/,
  ],
];

for (const [message, warning] of cases) {
  test(`"${message.slice(0, 60)}…" names the missing rule`, () => {
    const [header = ''] = refusedImpersonation('m1', Buffer.from(`{"kind":"Status","message":"${message}"}`));
    assert.match(header, /^299 - "cluster m1: /);
    assert.match(header, warning);
  });
}

test("a user's own 403 gets no warning", () => {
  const body = Buffer.from(
    '{"message":"pods is forbidden: User \\"alice\\" cannot list resource \\"pods\\" in API group \\"\\""}',
  );
  assert.deepEqual(refusedImpersonation('m1', body), []);
});
