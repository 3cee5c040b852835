// What tests of faults start from: real members, each reached by the gateway straight or through the fault proxy, and a
// gateway process at the time scale of the run. The proxy's address is what the gateway knows, while the test itself
// speaks to the member's own.
import { join } from 'node:path';

import { http1Client, http2Client } from '../clients/stream-client.ts';
import type { StreamClient, StreamServer } from '../clients/stream-client.ts';
import type { ConnectOptions } from '../clients/upgrade-client.ts';
import { startControlPlane } from '../controlplane/fixture.ts';
import type { ControlPlane, ControlPlaneOptions, Member } from '../controlplane/fixture.ts';
import { sumMetric } from '../controlplane/requests.ts';
import { clusterAt, writeContexts } from '../e2e/kubectl/contexts.ts';
import type { TestContext } from '../e2e/kubectl/contexts.ts';
import { ask } from '../e2e/kubectl/kubectl-as.ts';
import type { RawAnswer } from '../e2e/kubectl/kubectl-as.ts';
import { eventually } from '../site/polling.ts';
import type { GatewayOptions } from '../gateway-process.ts';
import { startFaultProxy } from './proxy.ts';
import type { FaultProxy } from './proxy.ts';
import { startWitnessedGateway } from './witnessed.ts';
import type { WitnessedGateway } from './witnessed.ts';

/** cluster-admin at every member. */
export const carol = { token: 'carol-at-the-gateway', name: 'carol', groups: ['operators'] };

export interface FaultSiteOptions extends Omit<ControlPlaneOptions, 'members'> {
  /** Reached straight. */
  readonly members?: readonly string[];
  /** Reached through a fault proxy. */
  readonly proxied?: readonly string[];
  readonly gateway?: Partial<GatewayOptions>;
}

/** An answer and how long it took. */
export interface TimedAnswer extends RawAnswer {
  readonly tookMs: number;
}

export interface FaultSite {
  readonly plane: ControlPlane;
  readonly gateway: WitnessedGateway;
  /** carol at the gateway. */
  readonly server: StreamServer;
  readonly raw: ConnectOptions;
  readonly kubeconfig: string;
  member(name: string): Member;
  proxy(name: string): FaultProxy;
  get(path: string): Promise<TimedAnswer>;
  /** Status and reason of the cluster's condition `Available`, as in `False NotAnswering`. */
  availability(cluster: string): Promise<string>;
  /** Sum of a metric of the gateway. */
  metric(name: string, labels?: Readonly<Record<string, string>>): Promise<number>;
  /** Opens watches of a namespace's configmaps, HTTP/1.1 and HTTP/2 clients in turn. */
  clients(count: number): Promise<readonly StreamClient[]>;
  stop(): Promise<void>;
}

/** Path of a namespace's configmaps in a cluster, through the gateway. */
export function configMapsOf(cluster: string, namespace = 'team-a'): string {
  return `/clusters/${cluster}/proxy/api/v1/namespaces/${namespace}/configmaps`;
}

/** Starts it; resolves when every cluster is available. */
export async function startFaultSite(options: FaultSiteOptions): Promise<FaultSite> {
  const { members = [], proxied = [], gateway: gatewayOptions = {}, ...controlPlane } = options;
  const plane = await startControlPlane({ ...controlPlane, members: [...members, ...proxied] });
  const proxies = new Map<string, FaultProxy>();
  const closers: (() => void | Promise<unknown>)[] = [() => plane.stop()];
  const stop = async (): Promise<void> => {
    for (const close of closers.splice(0).toReversed()) await close();
  };
  try {
    for (const name of proxied) {
      const proxy = await startFaultProxy(Number(new URL(plane.member(name).url).port));
      proxies.set(name, proxy);
      closers.push(() => proxy.close());
    }
    const contexts = plane.members.map(({ name, url, caPem, gatewayToken }): TestContext => ({
      name,
      cluster: clusterAt(proxies.get(name)?.url ?? url, caPem) as TestContext['cluster'],
      user: { token: gatewayToken },
    }));
    const kubeconfig = writeContexts(join(plane.dir, 'contexts.kubeconfig'), contexts);
    const gateway = await startWitnessedGateway({ kubeconfigs: [kubeconfig], users: [carol], ...gatewayOptions });
    closers.push(() => gateway.stop('SIGKILL'));
    const headers = { authorization: `Bearer ${carol.token}` };
    const server: StreamServer = { url: gateway.url, caPem: gateway.caPem, headers };
    const get = async (path: string): Promise<TimedAnswer> => {
      const startedMs = performance.now();
      const answer = await ask(gateway, carol.token, 'GET', path);
      return { ...answer, tookMs: performance.now() - startedMs };
    };
    const site: FaultSite = {
      plane,
      gateway,
      server,
      raw: {
        host: '127.0.0.1',
        port: gateway.port,
        ca: gateway.caPem,
        headers: [['Authorization', headers.authorization]],
      },
      kubeconfig,
      member: (name) => plane.member(name),
      proxy: (name) => proxies.get(name)!,
      get,
      async availability(cluster) {
        const { body } = await get(`/apis/gateway.portcullis.io/v1alpha1/clusters/${cluster}`);
        const { status } = JSON.parse(body.toString()) as ClusterObject;
        const found = status?.conditions?.find(({ type }) => type === 'Available');
        return found === undefined ? 'none' : `${found.status} ${found.reason}`;
      },
      async metric(name, labels) {
        return sumMetric(await (await fetch(`${gateway.opsUrl}/metrics`)).text(), name, labels);
      },
      async clients(count) {
        return await Promise.all(
          Array.from({ length: count }, (_, i) => (i % 2 === 0 ? http1Client(server) : http2Client(server))),
        );
      },
      stop,
    };
    for (const { name } of plane.members)
      await eventually(`${name} is available`, async () => (await site.availability(name)) === 'True Answering');
    return site;
  } catch (error) {
    await stop();
    throw error;
  }
}

interface ClusterObject {
  readonly status?: {
    readonly conditions?: readonly { readonly type: string; readonly status: string; readonly reason: string }[];
  };
}
