// The simulator answers as a real kube-apiserver does: the same requests to both, the answers compared field by field.
// A difference that is meant belongs into simulator-requests.ts with its path, never into the comparison.
// Landing tier: the simulated clusters answer as real ones.
import assert from 'node:assert/strict';
import { request } from 'node:https';
import { after, before, test } from 'node:test';

import { startSimulator, type Simulator } from '../../../sim/server.ts';
import { startControlPlane } from '../../controlplane/fixture.ts';
import type { ControlPlane, MemberAnswer } from '../../controlplane/fixture.ts';
import { comparisons, type Comparison } from './simulator-requests.ts';

let plane: ControlPlane;
let sim: Simulator;

before(async () => {
  plane = await startControlPlane({ members: ['m1'], controllerManager: true, audit: false });
  sim = await startSimulator({ nodes: 0 });
  // What the controllers of both sides do for the first namespace must have happened.
  const path = '/api/v1/namespaces/default/serviceaccounts/default';
  while ((await plane.member('m1').request('GET', path)).status !== 200)
    await new Promise((resolve) => setTimeout(resolve, 200));
});
after(async () => {
  await sim?.close();
  await plane?.stop();
});

function askSimulator({ method, path, body, headers = {} }: Comparison): Promise<MemberAnswer> {
  const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
  return new Promise((resolve, reject) => {
    const sending = {
      authorization: `Bearer ${sim.adminToken}`,
      ...(text === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
      ...headers,
    };
    request(
      { host: '127.0.0.1', port: sim.port, ca: sim.caPem, agent: false, method, path, headers: sending },
      (answer) => {
        let received = '';
        answer.setEncoding('utf8').on('data', (chunk: string) => (received += chunk));
        answer.on('error', reject).on('end', () => resolve({ status: answer.statusCode ?? 0, body: received }));
      },
    )
      .on('error', reject)
      .end(text);
  });
}

/** The body without what is different in every run; a stream of events becomes a list. */
function normalized(body: string): unknown {
  const text = body
    .replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, 'UID')
    .replace(/"resourceVersion":"\d+"/g, '"resourceVersion":"RV"')
    .replace(/20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, 'TIME')
    .replace(/"\d+s"/g, '"AGE"');
  try {
    return JSON.parse(text);
  } catch {
    try {
      return text
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as unknown);
    } catch {
      return text;
    }
  }
}

function isMap(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === 'object';
}

/** Every path at which two values differ. */
function differences(real: unknown, simulated: unknown, path = ''): string[] {
  if (isMap(real) && isMap(simulated) && Array.isArray(real) === Array.isArray(simulated)) {
    const keys = new Set([...Object.keys(real), ...Object.keys(simulated)]);
    return [...keys].flatMap((key) => differences(real[key], simulated[key], `${path}.${key}`));
  }
  if (Object.is(real, simulated)) return [];
  return [`${path}: real ${JSON.stringify(real) ?? 'nothing'}, simulated ${JSON.stringify(simulated) ?? 'nothing'}`];
}

for (const comparison of comparisons)
  test(`the same answer: ${comparison.name}`, async () => {
    const { method, path, body, headers, mayDiffer } = comparison;
    const [real, simulated] = await Promise.all([
      plane.member('m1').request(method, path, body, headers),
      askSimulator(comparison),
    ]);
    const found = differences(
      { status: real.status, body: normalized(real.body) },
      { status: simulated.status, body: normalized(simulated.body) },
    );
    assert.deepEqual(
      found.filter((line) => mayDiffer?.test(line.split(': real', 1)[0] ?? '') !== true),
      [],
    );
  });
