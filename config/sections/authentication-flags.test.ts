import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readAuthenticationFlags } from './authentication-flags.ts';
import type { AuthenticationInput } from './authentication-flags.ts';

function read(given: AuthenticationInput, isSelf = false): { flags: object; faults: string[] } {
  const faults: string[] = [];
  const flags = readAuthenticationFlags(given, isSelf, (flag) => void faults.push(flag));
  return { flags, faults };
}

test('--anonymous-auth is true without a value, true or false with one, and nothing else', () => {
  for (const [anonymousAuth, expected] of [
    [true, true],
    ['true', true],
    ['false', false],
    [undefined, undefined],
  ] as const)
    assert.deepEqual(read({ anonymousAuth }), {
      flags: { configFile: undefined, anonymousAuth: expected },
      faults: [],
    });
  assert.deepEqual(read({ anonymousAuth: 'yes' }).faults, ['--anonymous-auth']);
});

test('--identity=self goes with neither a file nor anonymous requests', () => {
  assert.deepEqual(read({ authenticationConfig: '/f', anonymousAuth: true }, true).faults, [
    '--authentication-config',
    '--anonymous-auth',
  ]);
  assert.deepEqual(read({ anonymousAuth: false }, true).faults, []);
});
