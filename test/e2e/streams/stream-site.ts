// One real member with a kubelet behind a real gateway, and how tests of streams count what the member saw. A long
// request has two audit events, so requests are counted by audit id; and a second request may come late, so a later one
// is waited for first.
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';

import type { ConnectOptions } from '../../clients/upgrade-client.ts';
import type { StreamServer } from '../../clients/stream-client.ts';
import { startControlPlane } from '../../controlplane/fixture.ts';
import type { AuditEvent, ControlPlane, Member } from '../../controlplane/fixture.ts';
import { startGatewayProcess } from '../../gateway-process.ts';
import type { GatewayProcess } from '../../gateway-process.ts';
import { boxPod, podService } from '../kubectl/pods.ts';
import { makeSide } from '../kubectl/sides.ts';
import type { ScenarioUser, Side } from '../kubectl/sides.ts';

/** cluster-admin at the member. */
export const carol: ScenarioUser = {
  name: 'carol',
  uid: 'carol-uid',
  groups: ['stream-admins'],
  token: 'carol-at-the-gateway',
};

/** A request that the member saw. */
export interface SeenRequest {
  /** kube-apiserver's verb: a WebSocket is a GET (`get`), SPDY a POST (`create`). */
  readonly verb: string;
  readonly code: number | undefined;
  readonly user: string | undefined;
}

/** What the tests of one file share. */
export interface StreamSite {
  readonly plane: ControlPlane;
  readonly member: Member;
  readonly gateway: GatewayProcess;
  /** carol through the gateway. */
  readonly through: Side;
  /** carol straight to the same member. */
  readonly direct: Side;
  /** Raw upgrades as carol; paths begin with `proxyPath`. */
  readonly raw: ConnectOptions;
  /** Ordinary requests as carol. */
  readonly server: StreamServer;
  readonly proxyPath: string;
  /** Finished requests with this subresource that came after `mark`, once there is at least one. */
  seen(mark: number, subresource: string): Promise<readonly SeenRequest[]>;
  /** Requests of the subresource that the member has open now. */
  open(subresource: string): Promise<number>;
  stop(): Promise<void>;
}

/** Starts it, with the pod `box` and its service in `default`. */
export async function startStreamSite(): Promise<StreamSite> {
  const plane = await startControlPlane({ members: ['m1'], controllerManager: true, kubelet: true });
  const member = plane.member('m1');
  const gateway = await startGatewayProcess({ kubeconfigs: [plane.gatewayKubeconfig], users: [carol] });
  await member.apply(boxPod('box', 'default'), podService('box', 'default'));
  const ready = await member.kubectl(['wait', '--for=condition=Ready', 'pod/box', '--timeout=60s']);
  if (ready.code !== 0) throw new Error(ready.stderr);
  const parent = join(plane.dir, 'streams');
  mkdirSync(parent);
  const kubectl = plane.binaries['kubectl']!;
  const authorization = `Bearer ${carol.token}`;
  const through = makeSide('gateway', kubectl, member, carol, parent, gateway);
  const direct = makeSide('direct', kubectl, member, carol, parent, undefined);
  return {
    plane,
    member,
    gateway,
    through,
    direct,
    raw: { host: '127.0.0.1', port: gateway.port, ca: gateway.caPem, headers: [['Authorization', authorization]] },
    server: { url: gateway.url, caPem: gateway.caPem, headers: { authorization } },
    proxyPath: '/clusters/m1/proxy',
    seen: (mark, subresource) => seenRequests(member, mark, subresource),
    open: (subresource) => member.metric('apiserver_longrunning_requests', { subresource }),
    async stop() {
      through.end();
      direct.end();
      await gateway.stop('SIGKILL');
      await plane.stop();
    },
  };
}

async function seenRequests(member: Member, mark: number, subresource: string): Promise<readonly SeenRequest[]> {
  const ours = (event: AuditEvent): boolean => event.objectRef?.subresource === subresource;
  const isOver = (event: AuditEvent): boolean => event.stage === 'ResponseComplete';
  await member.waitForAudit((event) => ours(event) && isOver(event), { mark });
  const last = `/version?${randomUUID()}`;
  await member.request('GET', last);
  await member.waitForAudit((event) => event.requestURI === last, { mark });
  const requests = new Map<string, SeenRequest>();
  for (const event of (await member.audit(mark)).filter(ours)) {
    const { verb, impersonatedUser, responseStatus } = event;
    requests.set(event.auditID, { verb, code: responseStatus?.code, user: impersonatedUser?.username });
  }
  return [...requests.values()];
}

/** Makes a pod and waits until it is ready. */
export async function makePod(member: Member, pod: object): Promise<void> {
  await member.apply(pod);
  const { name } = (pod as { metadata: { name: string } }).metadata;
  const ready = await member.kubectl(['wait', '--for=condition=Ready', `pod/${name}`, '--timeout=60s']);
  assert.equal(ready.code, 0, ready.stderr);
}
