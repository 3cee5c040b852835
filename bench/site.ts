// Makes what all measured programs share: one certificate, one table of 10,000 users, one API server and one folder. A
// program with fewer users or another type of key would win for that reason alone, so all programs use the same ones.
import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { createAuthority } from '../test/pretend/certificates.ts';
import type { HeaderPairs } from './load.ts';
import type { BenchMember } from './member.ts';
import type { LiveProcesses } from './process.ts';
import { userGroups } from './names.ts';

/** Number of users in the token table of every measured program. */
export const userCount = 10_000;
/** One row of the token table. */
export interface BenchUser {
  readonly name: string;
  readonly token: string;
}

/** Files and other values that all measured programs share. */
export interface Site {
  readonly dir: string;
  /**
   * Paths of the serving certificate of every measured program (ECDSA P-256, for 127.0.0.1 and localhost), of its key,
   * and of one file with both, which haproxy needs.
   */
  readonly certFile: string;
  readonly keyFile: string;
  readonly bundleFile: string;
  /** Path of the CA certificate that clients of the measured programs trust. */
  readonly caFile: string;
  readonly users: readonly BenchUser[];
  /** Path of the token table in the format of kube-apiserver's static token file: `token,user,uid,"group,group"`. */
  readonly usersFile: string;
  /** The user as whom the load generator sends requests. */
  readonly user: BenchUser;
  readonly member: BenchMember;
  /** All processes that were started. They are killed when the benchmark exits without calling `close`. */
  readonly live: LiveProcesses;
  readonly close: () => Promise<void>;
}

/** Makes the folder, the certificate and the users, then calls `startMember` to start the API server. */
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

/** Headers that the load generator sends to a gateway, with the token of the user. */
export function userHeaders(site: Site): HeaderPairs {
  return [
    ['Authorization', `Bearer ${site.user.token}`],
    ['Accept', 'application/json'],
    ['User-Agent', 'portcullis-bench'],
  ];
}

/**
 * Headers that a gateway sends to the API server for the load generator's user. Without a gateway (`direct`), the load
 * generator sends them itself.
 */
export function impersonatingHeaders(site: Site): HeaderPairs {
  return [
    ['Authorization', `Bearer ${site.member.token}`],
    ['Accept', 'application/json'],
    ['User-Agent', 'portcullis-bench'],
    ['Impersonate-User', site.user.name],
    ...userGroups.map((group) => ['Impersonate-Group', group] as const),
  ];
}
