// Everything a member needs on disk before it starts: certificates, tokens, audit policy, egress rules, kubeconfigs.
// Every member has an authority of its own, so trusting one cluster must never make another one trusted.
import { randomBytes } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';

import { stringify } from 'yaml';

import { auditPolicy } from './audit.ts';
import { createAuthority, createSigningKey, type KeyPair } from '../pretend/certificates.ts';
import { gatewayUser, type MemberUser } from './fixture-types.ts';
import { writeKubeconfig, type KubeconfigEntry } from './kubeconfig.ts';
import { users } from './objects.ts';

/**
 * The kubelet stand-in's Node address: nobody has it, the egress proxy knows (loopback would be refused by
 * nodes/proxy).
 */
export const kubeletNodeIp = '10.99.0.1';

/** Paths and credentials of one member. */
export interface MemberFiles {
  readonly name: string;
  readonly dir: string;
  readonly url: string;
  readonly port: number;
  readonly caPem: string;
  readonly caFile: string;
  readonly admin: KeyPair;
  readonly adminKubeconfig: string;
  /** For kube-controller-manager, kube-scheduler, kwok and the kubelet: system:masters under names of their own. */
  readonly componentKubeconfig: (component: string) => Promise<string>;
  readonly gatewayToken: string;
  readonly gatewayKubeconfig: string;
  readonly gatewayEntry: KubeconfigEntry;
  readonly users: Readonly<Record<keyof typeof users, MemberUser>>;
  readonly auditLog: string;
  /** Socket of the kubelet stand-in's CONNECT proxy, through which kube-apiserver reaches pods. */
  readonly egressSocket: string;
  /** Absolute path of a file in `dir`. */
  readonly file: (name: string) => string;
}

/** Makes the folder `<parent>/<name>` with all files for a member on `port`. */
export async function createMemberFiles(parent: string, name: string, port: number): Promise<MemberFiles> {
  const dir = path.join(parent, name);
  await mkdir(dir, { recursive: true });
  const file = (each: string): string => path.join(dir, each);
  const url = `https://127.0.0.1:${port}`;
  const ca = await createAuthority(`${name}-ca`);
  const writePair = async (stem: string, pair: KeyPair): Promise<KeyPair> => {
    await writeFile(file(`${stem}.crt`), pair.certPem);
    await writeFile(file(`${stem}.key`), pair.keyPem, { mode: 0o600 });
    return pair;
  };
  await writePair('ca', ca);
  await writePair('front-proxy-ca', await createProxyClient(writePair));
  const admin = await ca.issue({ commonName: 'admin', organizations: ['system:masters'], usage: 'client' });
  const serverNames = ['localhost', 'kubernetes', 'kubernetes.default', 'kubernetes.default.svc'];
  await writePair(
    'server',
    await ca.issue({
      commonName: 'kube-apiserver',
      dnsNames: serverNames,
      ipAddresses: ['127.0.0.1', '10.96.0.1'],
      usage: 'server',
    }),
  );
  await writePair('kubelet-client', await ca.issue({ commonName: 'kube-apiserver-kubelet-client', usage: 'client' }));
  await writePair(
    'kubelet',
    await ca.issue({
      commonName: 'kubelet',
      dnsNames: ['localhost'],
      ipAddresses: ['127.0.0.1', kubeletNodeIp],
      usage: 'server',
    }),
  );
  const signing = await createSigningKey();
  await writeFile(file('sa.key'), signing.privatePem, { mode: 0o600 });
  await writeFile(file('sa.pub'), signing.publicPem);
  await writeFile(file('audit-policy.yaml'), stringify(auditPolicy));
  const egressSocket = file('egress.sock');
  await writeFile(file('egress.yaml'), stringify(egressConfiguration(egressSocket)));

  const entry = (user: string, credential: KubeconfigEntry['credential']): KubeconfigEntry => {
    return { name, server: url, caPem: ca.certPem, user, credential };
  };
  const gatewayToken = newToken();
  const gatewayEntry = entry(gatewayUser, { token: gatewayToken });
  const people = await createUsers(file, entry);
  const tokenLines = [
    `${gatewayToken},${gatewayUser},uid-${gatewayUser}`,
    ...Object.values(people).map((user) => `${user.token},${user.name},${user.uid},"${user.groups.join(',')}"`),
  ];
  await writeFile(file('tokens.csv'), `${tokenLines.join('\n')}\n`, { mode: 0o600 });
  return {
    name,
    dir,
    url,
    port,
    caPem: ca.certPem,
    caFile: file('ca.crt'),
    admin,
    adminKubeconfig: await writeKubeconfig(file('admin.kubeconfig'), [entry('admin', admin)]),
    componentKubeconfig: async (component) => {
      const pair = await ca.issue({ commonName: component, organizations: ['system:masters'], usage: 'client' });
      return await writeKubeconfig(file(`${component}.kubeconfig`), [entry(component, pair)]);
    },
    gatewayToken,
    gatewayKubeconfig: await writeKubeconfig(file('gateway.kubeconfig'), [gatewayEntry]),
    gatewayEntry,
    users: people,
    auditLog: file('audit.log'),
    egressSocket,
    file,
  };
}

/**
 * The aggregator's own authority and the certificate with which kube-apiserver introduces itself to extension API
 * servers.
 */
async function createProxyClient(write: (stem: string, pair: KeyPair) => Promise<KeyPair>): Promise<KeyPair> {
  const authority = await createAuthority('front-proxy-ca');
  await write('front-proxy-client', await authority.issue({ commonName: 'front-proxy-client', usage: 'client' }));
  return authority;
}

async function createUsers(
  file: (name: string) => string,
  entry: (user: string, credential: { readonly token: string }) => KubeconfigEntry,
): Promise<MemberFiles['users']> {
  const create = async (name: keyof typeof users): Promise<MemberUser> => {
    const token = newToken();
    const kubeconfig = await writeKubeconfig(file(`${name}.kubeconfig`), [entry(name, { token })]);
    return { name, uid: users[name].uid, groups: users[name].groups, token, kubeconfig };
  };
  return { alice: await create('alice'), bob: await create('bob'), carol: await create('carol') };
}

function newToken(): string {
  return randomBytes(24).toString('base64url');
}

/**
 * Sends what kube-apiserver dials inside the cluster (pods, nodes, services) through the stand-in, which knows where
 * pod addresses really are.
 */
function egressConfiguration(socket: string): object {
  return {
    apiVersion: 'apiserver.k8s.io/v1beta1',
    kind: 'EgressSelectorConfiguration',
    egressSelections: [
      {
        name: 'cluster',
        connection: { proxyProtocol: 'HTTPConnect', transport: { uds: { udsName: socket } } },
      },
    ],
  };
}
