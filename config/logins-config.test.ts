import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readLogins } from './logins-config.ts';
import { flagsAlone } from './settings/settings.ts';

function read(given: Readonly<Record<string, unknown>>, isSelf = false): { flags: object; faults: string[] } {
  const faults: string[] = [];
  const { authentication: flags } = readLogins(
    flagsAlone(given, (flag) => void faults.push(flag)),
    isSelf,
  );
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
