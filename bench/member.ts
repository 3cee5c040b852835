// The API server behind all measured proxies: a real kube-apiserver, or a stub that costs almost nothing. The proxies'
// credential has no rights but to impersonate. So a proxy that forgets to impersonate gets 403 instead of good results.
import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';

import { createAuthority } from '../test/pretend/certificates.ts';
import { startControlPlane } from '../test/controlplane/fixture.ts';
import { buildGo } from './go-build.ts';
import { startProcess, type LiveProcesses } from './process.ts';
import { clusterName, userGroups } from './names.ts';

/**
 * A DNS name in the certificate of every API server, in addition to its IP address, because nginx and haproxy cannot
 * verify an IP address.
 */
export const memberTlsName = 'localhost';

/** The API server behind the measured proxies, and how they reach it. */
export interface BenchMember {
  readonly kind: 'kube-apiserver' | 'stub';
  readonly host: string;
  readonly port: number;
  readonly caFile: string;
  /** The token with which the proxies authenticate to the API server; tokenFile contains the same token. */
  readonly token: string;
  readonly tokenFile: string;
  /** Path of a kubeconfig with one context, called {@link clusterName}, and the token of the proxies. */
  readonly kubeconfigFile: string;
  /** Kubernetes version of the API server, or a name for the stub. */
  readonly version: string;
  readonly stop: () => Promise<void>;
}

/** Path of the 1 KB ConfigMap that the scenarios read. */
export const configMapPath = '/api/v1/namespaces/bench/configmaps/bench';
/** Path of a watch that matches no object, so it never gets an event. */
export const idleWatchPath =
  '/api/v1/namespaces/bench/configmaps?watch=1&timeoutSeconds=3000&fieldSelector=metadata.name%3Dnone';

/** Starts a real etcd and kube-apiserver, and creates the ConfigMap that is read and the RBAC of the users. */
export async function startRealMember(dir: string, progress: (line: string) => void): Promise<BenchMember> {
  const controlPlane = await startControlPlane({ members: [clusterName], audit: false, progress });
  try {
    const member = controlPlane.member(clusterName);
    await member.apply(...objects());
    const address = new URL(member.url);
    const version = JSON.parse((await member.request('GET', '/version')).body) as { readonly gitVersion: string };
    const endpoint = {
      host: address.hostname,
      port: Number(address.port),
      token: member.gatewayToken,
      caFile: member.caFile,
    };
    return {
      kind: 'kube-apiserver',
      ...endpoint,
      ...(await writeCredentials(dir, endpoint)),
      version: version.gitVersion,
      stop: controlPlane.stop,
    };
  } catch (error) {
    await controlPlane.stop();
    throw error;
  }
}

/**
 * Starts the stub API server. It answers with the same headers and protocols as a kube-apiserver but does almost no
 * work.
 */
export async function startStubMember(
  dir: string,
  live: LiveProcesses,
  progress: (line: string) => void,
): Promise<BenchMember> {
  const authority = await createAuthority('bench member');
  const serving = await authority.issue({
    commonName: 'member',
    usage: 'server',
    dnsNames: [memberTlsName],
    ipAddresses: ['127.0.0.1'],
  });
  const [caFile, certFile, keyFile] = ['member-ca.crt', 'member.crt', 'member.key'].map((name) =>
    path.join(dir, name),
  ) as [string, string, string];
  await writeFile(caFile, authority.certPem);
  await writeFile(certFile, serving.certPem);
  await writeFile(keyFile, serving.keyPem, { mode: 0o600 });
  const token = randomBytes(16).toString('hex');
  const stub = await startProcess(
    {
      name: 'stub member',
      command: await buildGo('stub', progress),
      args: ['-cert', certFile, '-key', keyFile, '-token', token],
      firstLine: true,
    },
    live,
  );
  const { port } = JSON.parse(stub.firstLine) as { readonly port: number };
  const endpoint = { host: '127.0.0.1', port, token, caFile };
  return { kind: 'stub', ...endpoint, ...(await writeCredentials(dir, endpoint)), version: 'stub', stop: stub.stop };
}

async function writeCredentials(
  dir: string,
  endpoint: { readonly host: string; readonly port: number; readonly token: string; readonly caFile: string },
): Promise<{ readonly tokenFile: string; readonly kubeconfigFile: string }> {
  const tokenFile = path.join(dir, 'member.token');
  const kubeconfigFile = path.join(dir, 'member.kubeconfig');
  await writeFile(tokenFile, endpoint.token, { mode: 0o600 });
  await writeFile(kubeconfigFile, kubeconfig([{ name: clusterName, ...endpoint }]), { mode: 0o600 });
  return { tokenFile, kubeconfigFile };
}

/** Returns a kubeconfig with one context for each API server, as JSON, which is also YAML. */
export function kubeconfig(
  members: readonly {
    readonly name: string;
    readonly host: string;
    readonly port: number;
    readonly token: string;
    readonly caFile: string;
  }[],
): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': members[0]?.name ?? '',
    clusters: members.map(({ name, host, port, caFile }) => ({
      name,
      cluster: { server: `https://${host}:${port}`, 'certificate-authority': caFile },
    })),
    users: members.map(({ name, token }) => ({ name, user: { token } })),
    contexts: members.map(({ name }) => ({ name, context: { cluster: name, user: name } })),
  });
}

function objects(): object[] {
  const rbac = { apiGroup: 'rbac.authorization.k8s.io' };
  return [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'bench' } },
    {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'bench', namespace: 'bench' },
      data: { text: 'portcullis '.repeat(64).slice(0, 600) },
    },
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'Role',
      metadata: { name: 'bench', namespace: 'bench' },
      rules: [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'list', 'watch', 'create'] }],
    },
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'RoleBinding',
      metadata: { name: 'bench', namespace: 'bench' },
      roleRef: { ...rbac, kind: 'Role', name: 'bench' },
      subjects: [{ ...rbac, kind: 'Group', name: userGroups[0] }],
    },
  ];
}
