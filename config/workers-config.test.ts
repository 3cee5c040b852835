import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigurationError } from '../lib/configuration-error.ts';
import { readConfig } from './config.ts';
import type { ConfigInput } from './written.ts';
import { limitsOfWorker } from './workers-config.ts';

const plain: ConfigInput = { kubeconfig: ['/k'], tokenAuthFile: '/t', dataDir: '/d', maxMemory: '1Gi' };

function fault(input: ConfigInput): string {
  try {
    readConfig({ ...plain, ...input }, {}, false);
  } catch (error) {
    if (error instanceof ConfigurationError) return error.message;
    throw error;
  }
  return '';
}

test('without the flag there is one process with everything it had before', () => {
  const config = readConfig(plain, {}, false);
  assert.equal(config.workers, 1);
  assert.notEqual(config.index, undefined);
});

test('settings that cannot be combined with workers are refused with a reason', () => {
  const two = { workers: '2' };
  assert.equal(fault(two), '');
  for (const workers of ['0', '-1', '65', '1.5', 'two']) assert.match(fault({ workers }), /--workers: .* from 1 to 64/);
  assert.match(fault({ workers: '' }), /--workers: is empty/);
  assert.match(fault({ ...two, userQps: '5' }), /--user-qps.*--workers/);
  assert.match(fault({ ...two, maxMemory: '256Mi' }), /at least 384Mi/);
});

test('an index, or one person alone, may have workers', () => {
  assert.notEqual(readConfig({ ...plain, workers: '2', indexResources: 'pods' }, {}, false).index, undefined);
  const { tokenAuthFile: _users, ...self } = { ...plain, workers: '2', identity: 'self' };
  assert.equal(readConfig(self, {}, false).workers, 2);
});

test('each worker has its part of every bound, and never none of it', () => {
  const { limits } = readConfig({ ...plain, maxUserRequestsInflight: '1', maxStreams: '0' }, {}, false);
  const part = limitsOfWorker(limits, 4);
  assert.equal(part.requests, limits.requests / 4);
  assert.equal(part.connections, limits.connections / 4);
  assert.equal(part.userRequests, 1);
  assert.equal(part.streams, Infinity);
  assert.equal(part.memoryBytes, limits.memoryBytes / 5 - ((limits.memoryBytes / 5) % 1));
  assert.equal(part.queueTimeoutMs, limits.queueTimeoutMs);
});
