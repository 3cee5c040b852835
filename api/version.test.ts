import assert from 'node:assert/strict';
import { test } from 'node:test';
import { kubernetesVersion } from '../test/controlplane/modules.ts';
import { testedKubernetes, versionInfo } from './version.ts';

function cluster(version: string, available: 'True' | 'False' = 'True'): Parameters<typeof versionInfo>[1][number] {
  const condition = { type: 'Available', status: available, reason: '', message: '', lastTransitionTime: '' };
  return { status: { conditions: [condition], version, latencyMs: undefined } };
}

function reported(...clusters: readonly ReturnType<typeof cluster>[]): {
  major: string;
  minor: string;
  gitVersion: string;
} {
  const { major, minor, gitVersion } = versionInfo('0.1.0', clusters) as Record<string, string>;
  return { major: major!, minor: minor!, gitVersion: gitVersion! };
}

test('the version is that of the newest Kubernetes that is available, with our own as its build', () => {
  assert.deepEqual(
    reported(cluster('v1.9.7'), cluster('v1.30.2+k3s1'), cluster('v1.33.1-gke.5'), cluster('v1.34.0', 'False')),
    {
      major: '1',
      minor: '33',
      gitVersion: 'v1.33.0+portcullis-0.1.0',
    },
  );
  assert.equal(reported(cluster('v2.0.1'), cluster('v1.40.0')).gitVersion, 'v2.0.0+portcullis-0.1.0');
});

test('without a cluster that says one, it is the version of Kubernetes we are tested with', () => {
  assert.ok(kubernetesVersion.startsWith(`v${testedKubernetes}.`));
  const tested = `v${testedKubernetes}.0+portcullis-0.1.0`;
  const odd = ['', 'latest', 'v1', 'v1.99999999999', '1.', 'v-1.2', 'x1.36'];
  for (const clusters of [[], [cluster('v1.20.0', 'False')], odd.map((version) => cluster(version))])
    assert.equal(reported(...clusters).gitVersion, tested);
});
