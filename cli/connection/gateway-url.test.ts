import assert from 'node:assert/strict';
import test from 'node:test';
import { Failure } from '../terminal/failure.ts';
import { clusterServer, gatewayRoot, indexServer } from './gateway-url.ts';

test('the root is found in every form of address a kubeconfig may hold', () => {
  const roots: readonly (readonly [string, string])[] = [
    ['https://gw:8443', 'https://gw:8443'],
    ['https://gw:8443/', 'https://gw:8443'],
    ['https://gw', 'https://gw'],
    ['https://gw/clusters/m1/proxy', 'https://gw'],
    ['https://gw/clusters/m1/proxy/', 'https://gw'],
    ['https://gw/apis/gateway.portcullis.io/v1alpha1/clusters/m1/proxy', 'https://gw'],
    ['https://gw/apis/cluster.core.oam.dev/v1alpha1/clustergateways/m1/proxy', 'https://gw'],
    ['https://gw/apis/cluster.karmada.io/v1alpha1/clusters/m1/proxy', 'https://gw'],
    ['https://gw/k8s/clusters/c-1', 'https://gw/k8s/clusters/c-1'],
    ['https://gw/k8s/clusters/c-1/clusters/m1/proxy', 'https://gw/k8s/clusters/c-1'],
    ['https://[::1]:8443/clusters/m1/proxy', 'https://[::1]:8443'],
    [indexServer('https://gw/x'), 'https://gw/x'],
  ];
  for (const [server, root] of roots) assert.equal(gatewayRoot(server, '--server'), root, server);
});

test('an address that cannot be a gateway is a usage error that names the flag', () => {
  for (const server of ['gw:8443', 'http://gw:8443', 'https://user:secret@gw', 'https://gw?x=1', 'https://gw#x', '']) {
    assert.throws(
      () => gatewayRoot(server, '--server'),
      (error) => error instanceof Failure && error.exitCode === 2 && error.message.startsWith('--server'),
      server,
    );
  }
});

test('a refused address with a password does not print it', () => {
  assert.throws(
    () => gatewayRoot('https://user:secret@gw', '--server'),
    (error) => error instanceof Failure && !`${error.message}${error.nextStep}`.includes('secret'),
  );
});

test('a cluster lives below the root', () => {
  assert.equal(clusterServer('https://gw:8443/x', 'm1'), 'https://gw:8443/x/clusters/m1/proxy');
});
