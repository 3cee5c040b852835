import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defaultBreakerLimits } from '../../routing/call/breaker.ts';
import { defaultPoolTimes } from '../../routing/pools/endpoint-pools.ts';
import { readConfig } from '../../config/config.ts';
import { readTimeScale, timeScaleVariable } from '../../config/time-scale.ts';
import { fixedTimes } from './fixed-times.ts';

const flags = {
  kubeconfig: ['k'],
  tokenAuthFile: 't',
  hubKubeconfig: 'h',
  authorizationWebhookCacheAuthorizedTtl: '8s',
};

test('a factor shortens settings and fixed times alike, and nothing is changed without one', () => {
  const usual = readConfig(flags, {});
  const hasty = readConfig(flags, { [timeScaleVariable]: '0.25' });
  assert.deepEqual([usual.timeScale, usual.probeIntervalMs, usual.firstByteTimeoutMs], [1, 10_000, 60_000]);
  assert.deepEqual([hasty.timeScale, hasty.probeIntervalMs, hasty.firstByteTimeoutMs], [0.25, 2_500, 15_000]);
  assert.deepEqual([usual.hub?.authorizedTtlMs, hasty.hub?.authorizedTtlMs], [8_000, 2_000]);
  assert.equal(fixedTimes(1).transport.pingIntervalMs, defaultPoolTimes.pingIntervalMs);
  assert.deepEqual(fixedTimes(1).breaker, defaultBreakerLimits);
  assert.equal(fixedTimes(0.5).transport.pingTimeoutMs, defaultPoolTimes.pingTimeoutMs / 2);
});

for (const written of ['1.01', '10', '0', '-1', 'Infinity', 'NaN', 'fast', '0.001']) {
  test(`a factor of ${written} is refused: it would weaken a bound, or leave no time at all`, () => {
    const faults: string[] = [];
    assert.equal(
      readTimeScale({ [timeScaleVariable]: written }, (_where, message) => faults.push(message)),
      1,
    );
    assert.equal(faults.length, 1);
    assert.throws(() => readConfig(flags, { [timeScaleVariable]: written }), /unset it/);
  });
}
