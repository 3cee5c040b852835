// A whole gateway in this process with pretend members behind it: files in a temporary folder, free ports, the log kept
// as text. Easy to get wrong: the probe asks every member at start, so a test that counts bytes or connections must
// know what of it is the probe's.
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readConfig } from '../../config/config.ts';
import { startGateway } from '../../gateway/start/gateway.ts';
import type { Gateway } from '../../gateway/start/gateway.ts';
import { makeLog } from '../../lib/log.ts';
import { makeTestAuthority } from '../pretend/certificates.ts';
import type { TestAuthority } from '../pretend/certificates.ts';
import { tokenLine } from '../gateway-process.ts';
import type { TestUser } from '../gateway-process.ts';
import { startMember } from './member.ts';
import type { Member } from './member.ts';
import type { Endpoint } from './raw-client.ts';
import { tempDir } from '../pretend/temp-dir.ts';

/** One context of a kubeconfig. */
export interface Context {
  readonly name: string;
  readonly server: string;
  /** PEM. */
  readonly ca: string;
  readonly token: string;
  readonly cluster?: Readonly<Record<string, unknown>>;
  readonly user?: Readonly<Record<string, unknown>>;
  /** Labels of the cluster. */
  readonly labels?: Readonly<Record<string, string>>;
}

export interface SiteOptions {
  /** Members m1, m2, …; default one. */
  readonly members?: number;
  readonly users: readonly TestUser[];
  /** Further contexts, given those of the members. */
  readonly contexts?: (members: readonly Context[]) => readonly Context[];
  /** Rules as an object; none leaves every authenticated user in. */
  readonly rules?: readonly object[];
  /** PEM of the CA for client certificates. */
  readonly clientCa?: string;
  /** Further keys of the configuration file. */
  readonly config?: Readonly<Record<string, unknown>>;
}

/** What a test works with. */
export interface Site extends Endpoint {
  readonly gateway: Gateway;
  readonly authority: TestAuthority;
  readonly members: readonly Member[];
  readonly folder: string;
  readonly files: {
    readonly kubeconfig: string;
    readonly tokens: string;
    readonly rules: string;
    readonly clientCa: string;
  };
  /** Every line of the log so far, at level trace. */
  log(): string;
  readonly contexts: readonly Context[];
  /** Replaces a file in one piece, as editors and Secret volumes do. */
  replace(file: string, text: string): void;
  /** Requests of callers over all members. */
  upstream(): number;
  close(): void;
}

/** Credential of the gateway for the n-th member, counted from 1. */
export function memberToken(number: number): string {
  return `member-credential-${number}`;
}

/** Starts members and a gateway. */
export async function startSite(options: SiteOptions): Promise<Site> {
  const folder = tempDir('attack');
  const authority = await makeTestAuthority();
  const members: Member[] = [];
  for (let i = 0; i < (options.members ?? 1); i++) members.push(await startMember(authority));
  const ofMembers = members.map(({ port, ca }, i) => ({
    name: `m${i + 1}`,
    server: `https://127.0.0.1:${port}`,
    ca,
    token: memberToken(i + 1),
  }));
  const contexts: readonly Context[] = [...ofMembers, ...(options.contexts?.(ofMembers) ?? [])];
  const files = {
    kubeconfig: join(folder, 'kubeconfig.yaml'),
    tokens: join(folder, 'tokens.csv'),
    rules: join(folder, 'rules.yaml'),
    clientCa: join(folder, 'client-ca.crt'),
  };
  const config = join(folder, 'config.yaml');
  writeFileSync(files.kubeconfig, kubeconfigText(contexts));
  writeFileSync(files.tokens, `${options.users.map(tokenLine).join('\n')}\n`);
  if (options.rules !== undefined) writeFileSync(files.rules, rulesText(options.rules));
  if (options.clientCa !== undefined) writeFileSync(files.clientCa, options.clientCa);
  const settings: Record<string, unknown> = {
    probeIntervalSeconds: 3600,
    shutdownDelaySeconds: 0,
    shutdownGraceSeconds: 1,
    ...options.config,
  };
  writeFileSync(config, JSON.stringify(settings));
  let log = '';
  const gateway = await startGateway(
    readConfig({
      config,
      listen: '127.0.0.1:0',
      opsListen: '127.0.0.1:0',
      dataDir: folder,
      kubeconfig: [files.kubeconfig],
      ...(settings['identity'] === 'self' ? {} : { tokenAuthFile: files.tokens }),
      ...(options.rules === undefined ? {} : { authorizationRules: files.rules }),
      ...(options.clientCa === undefined ? {} : { clientCaFile: files.clientCa }),
    }),
    makeLog('trace', { write: (line) => void (log += line) }),
    '0.0.0',
  );
  return {
    gateway,
    port: Number(new URL(gateway.url).port),
    ca: readFileSync(gateway.caFile!, 'utf8'),
    authority,
    members,
    folder,
    files,
    log: () => log,
    contexts,
    replace(file, text) {
      writeFileSync(`${file}.new`, text);
      renameSync(`${file}.new`, file);
    },
    upstream: () => members.reduce((sum, { requests }) => sum + requests.length, 0),
    close() {
      gateway.close();
      for (const member of members) member.close();
    },
  };
}

/** A kubeconfig; JSON is YAML. */
export function kubeconfigText(contexts: readonly Context[]): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: contexts.map(({ name, server, ca, cluster }) => ({
      name,
      cluster: {
        server,
        ...(ca === '' ? {} : { 'certificate-authority-data': Buffer.from(ca).toString('base64') }),
        ...cluster,
      },
    })),
    users: contexts.map(({ name, token, user }) => ({ name, user: user ?? { token } })),
    contexts: contexts.map(({ name, labels }) => ({
      name,
      context: {
        cluster: name,
        user: name,
        ...(labels && { extensions: [{ name: 'gateway.portcullis.io/labels', extension: labels }] }),
      },
    })),
  });
}

/** A rules file. */
export function rulesText(rules: readonly object[]): string {
  return JSON.stringify({ apiVersion: 'gateway.portcullis.io/v1alpha1', kind: 'AuthorizationRules', rules });
}
