// A gateway under test in this thread: the real listener, chain and connections, real members' sockets, and an
// authorizer that lets everybody do everything and writes down what it was asked. There is no probe, so every byte a
// member gets is of a case.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Attributes } from '../../../auth/rules/attributes.ts';
import type { Authorizer } from '../../../auth/rules/authorize.ts';
import { createClusterStore } from '../../../model/store.ts';
import type { User } from '../../../model/user.ts';
import { readConfig } from '../../../config/config.ts';
import { makeFrontend } from '../../../gateway/start/frontend.ts';
import { makeMemberConnections } from '../../../gateway/parts/member-connections.ts';
import { makeLog } from '../../../lib/log.ts';
import { startOutgoingIdentities } from '../../../gateway/users/outgoing.ts';
import { makeReloading } from '../../../config/reloading.ts';
import { startServingCertificate } from '../../../gateway/certificates/serving.ts';
import { startSources } from '../../../gateway/parts/sources.ts';
import { startUsers } from '../../../gateway/users/users.ts';
import { makeTestAuthority } from '../../pretend/certificates.ts';
import { kubeconfigText } from '../../site/site.ts';
import { tokenLine } from '../../gateway-process.ts';
import { users, witness } from './case.ts';
import { startRecordingMember } from './member.ts';
import type { Segment } from './member.ts';
import { tempDir } from '../../pretend/temp-dir.ts';

/** Clusters of the site, and below which path each has its API. */
export const basePaths: Readonly<Record<string, string>> = { m1: '', m2: '/k8s/clusters/c-1' };

/** What was decided since the last look. */
export interface Recorded {
  readonly questions: readonly Attributes[];
  /** Identities that requests were sent as, one a request. */
  readonly identities: readonly { readonly user: User; readonly outgoing: User }[];
  readonly segments: readonly Segment[];
  /** Lines of the log at level error or above. */
  readonly errors: readonly string[];
}

/** What a case is played against. */
export interface RequestSite {
  readonly port: number;
  readonly ca: string;
  /** Host and credential of each cluster, as a request to it must have them. */
  readonly members: Readonly<{ [cluster: string]: { readonly host: string; readonly authorization: string } }>;
  /** Gives what was recorded and forgets it. */
  take(): Recorded;
  close(): void;
}

/** Starts it. */
export async function startRequestSite(): Promise<RequestSite> {
  const folder = tempDir('fuzz');
  const authority = await makeTestAuthority();
  const names = Object.keys(basePaths);
  const running = await Promise.all(names.map((name) => startRecordingMember(name, basePaths[name]!, authority)));
  const contexts = names.map((name, i) => ({
    name,
    server: `https://127.0.0.1:${running[i]!.port}${basePaths[name]!}`,
    ca: authority.ca,
    token: `credential-for-${name}`,
  }));
  const files = { kubeconfig: join(folder, 'kubeconfig'), tokens: join(folder, 'tokens.csv') };
  writeFileSync(files.kubeconfig, kubeconfigText(contexts));
  writeFileSync(files.tokens, `${[...users, witness].map(tokenLine).join('\n')}\n`);
  const questions: Attributes[] = [];
  const identities: { user: User; outgoing: User }[] = [];
  const errors: string[] = [];
  const gateway = await startRecordedGateway(folder, files, { questions, identities, errors });
  return {
    port: gateway.port,
    ca: gateway.ca,
    members: Object.fromEntries(
      contexts.map(({ name, token }, i) => [
        name,
        { host: `127.0.0.1:${running[i]!.port}`, authorization: `Bearer ${token}` },
      ]),
    ),
    take: () => ({
      questions: questions.splice(0),
      identities: identities.splice(0),
      segments: running.flatMap((member) => member.take()),
      errors: errors.splice(0),
    }),
    close() {
      gateway.close();
      for (const member of running) member.close();
    },
  };
}

async function startRecordedGateway(
  folder: string,
  files: { readonly kubeconfig: string; readonly tokens: string },
  into: { questions: Attributes[]; identities: { user: User; outgoing: User }[]; errors: string[] },
): Promise<{ readonly port: number; readonly ca: string; close(): void }> {
  const config = readConfig({
    listen: '127.0.0.1:0',
    opsListen: '127.0.0.1:0',
    dataDir: folder,
    kubeconfig: [files.kubeconfig],
    tokenAuthFile: files.tokens,
  });
  // Level error is 50 in the lines of the log.
  const log = makeLog('error', { write: (line) => void into.errors.push(line) });
  const reloading = makeReloading(log);
  const store = createClusterStore({ onListenerError: (error) => void into.errors.push(String(error)) });
  const ways = makeMemberConnections(store, config);
  const sources = await startSources(config, store, undefined, log);
  const signedIn = await startUsers(config, reloading, log);
  const outgoing = await startOutgoingIdentities(config.outgoing, reloading);
  const authorizer: Authorizer = {
    authorize(attributes) {
      into.questions.push(attributes);
      return { allowed: attributes.verb !== '', reason: 'recorded' };
    },
  };
  const endpoint = makeFrontend({
    ...ways,
    config,
    log,
    version: '0.0.0',
    store,
    users: signedIn,
    authorizer,
    outgoing: {
      ...outgoing,
      identity(user, cluster) {
        const made = outgoing.identity(user, cluster);
        into.identities.push({ user, outgoing: made });
        return made;
      },
    },
    audit: undefined,
    hub: undefined,
    index: undefined,
    checks: [],
    reloadFaults: () => [],
  });
  const serving = await startServingCertificate(config, reloading);
  const listener = await endpoint.open(serving);
  return {
    port: listener.port,
    ca: readFileSync(serving.caFile!, 'utf8'),
    close() {
      listener.close();
      serving.close();
      endpoint.close();
      signedIn.close();
      sources.close();
      ways.connections.close('abort');
      reloading.close();
    },
  };
}
