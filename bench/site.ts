// The ground all targets stand on: one certificate, one table of 10,000 users, one member, one folder. A target with an
// easier ground (fewer users, another key type) would win for that alone, so nothing here is made per target.
import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { createAuthority } from '../test/controlplane/certificates.ts';
import type { HeaderPairs } from './load.ts';
import type { BenchMember } from './member.ts';
import type { LiveProcesses } from './process.ts';
import { userGroups } from './names.ts';

/** Users in the token table of every target. */
export const userCount = 10_000;
/** One row of the token table. */
export interface BenchUser {
  readonly name: string;
  readonly token: string;
}

/** Files and facts shared by all targets. */
export interface Site {
  readonly dir: string;
  /**
   * Serving certificate of every target, for 127.0.0.1 and localhost (ECDSA P-256), its key, and both in one file for
   * haproxy.
   */
  readonly certFile: string;
  readonly keyFile: string;
  readonly bundleFile: string;
  /** What clients of a target trust. */
  readonly caFile: string;
  readonly users: readonly BenchUser[];
  /** kube-apiserver's static token format: `token,user,uid,"group,group"`. */
  readonly usersFile: string;
  /** The user the load generator is. */
  readonly user: BenchUser;
  readonly member: BenchMember;
  /** Every process started for this site; killed when the bench exits without closing the site. */
  readonly live: LiveProcesses;
  readonly close: () => Promise<void>;
}

/** Makes the folder, the certificate and the users, then the member by `startMember`. */
export async function createSite(
  startMember: (dir: string, live: LiveProcesses) => Promise<BenchMember>,
): Promise<Site> {
  const dir = await mkdtemp(path.join(tmpdir(), 'portcullis-bench-'));
  const file = async (name: string, content: string): Promise<string> => {
    const target = path.join(dir, name);
    await writeFile(target, content, { mode: 0o600 });
    return target;
  };
  const authority = await createAuthority('bench targets');
  const serving = await authority.issue({
    commonName: 'bench target',
    usage: 'server',
    dnsNames: ['localhost'],
    ipAddresses: ['127.0.0.1'],
  });
  const users = Array.from({ length: userCount }, (_, index) => ({
    name: `user-${String(index).padStart(5, '0')}`,
    token: randomBytes(16).toString('hex'),
  }));
  const rows = users.map((user) => `${user.token},${user.name},,"${userGroups.join(',')}"`);
  const files = {
    certFile: await file('target.crt', serving.certPem),
    keyFile: await file('target.key', serving.keyPem),
    bundleFile: await file('target.pem', serving.certPem + serving.keyPem),
    caFile: await file('target-ca.crt', authority.certPem),
    usersFile: await file('users.csv', `${rows.join('\n')}\n`),
  };
  const live: LiveProcesses = new Set();
  const abandon = (): void => {
    for (const child of live) child.killNow();
    rmSync(dir, { recursive: true, force: true });
  };
  process.once('exit', abandon);
  const clear = async (): Promise<void> => {
    await Promise.all([...live].map((child) => child.stop()));
    await rm(dir, { recursive: true, force: true });
    process.off('exit', abandon);
  };
  try {
    const member = await startMember(dir, live);
    const user = users[userCount / 2] as BenchUser;
    const close = async (): Promise<void> => {
      await member.stop();
      await clear();
    };
    return { dir, ...files, users, user, member, live, close };
  } catch (error) {
    await clear();
    throw error;
  }
}

/** What the load generator's user sends to a gateway. */
export function userHeaders(site: Site): HeaderPairs {
  return [
    ['Authorization', `Bearer ${site.user.token}`],
    ['Accept', 'application/json'],
    ['User-Agent', 'portcullis-bench'],
  ];
}

/** What a gateway sends to the member for that user; the target `direct` sends it itself. */
export function impersonatingHeaders(site: Site): HeaderPairs {
  return [
    ['Authorization', `Bearer ${site.member.token}`],
    ['Accept', 'application/json'],
    ['User-Agent', 'portcullis-bench'],
    ['Impersonate-User', site.user.name],
    ...userGroups.map((group) => ['Impersonate-Group', group] as const),
  ];
}
