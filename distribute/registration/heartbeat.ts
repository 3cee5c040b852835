// The Lease `managed-cluster-lease` of a ManagedCluster. An agent of OCM renews it as a sign that it is alive, and
// controllers of the hub take a cluster for unreachable when nobody has renewed it for five periods.
//
// An agent reads the Lease and writes it back with nothing but another `renewTime`, so whatever else the gateway wrote
// into it stays there. Therefore the gateway's mark is the time it wrote: a Lease whose `renewTime` differs from the
// mark was renewed by somebody else.
import type { ApiObject } from '../../kube/types.ts';
import type { ResourceType } from '../../kube/objects/objects.ts';
import { fieldOf, textAt } from '../../lib/objects/json-object.ts';
import { ownPrefix } from '../work/manifest-work.ts';
import { isAgentSeen, isOtherAvailable, isOwnAvailable } from './agent-status.ts';

export const leases: ResourceType = { group: 'coordination.k8s.io', version: 'v1', resource: 'leases' };
export const leaseName = 'managed-cluster-lease';

const markAnnotation = `${ownPrefix}renewed-at`;
const holder = 'portcullis';
/** What the lease controller of OCM's hub writes as holder into the Lease that it makes. */
const hubHolder = leaseName;
/** What OCM takes for `leaseDurationSeconds` 0. */
const defaultDurationMs = 60_000;
/** Periods without a renewal after which OCM's hub takes the agent for dead. */
const graceTimes = 5;
/**
 * By how many milliseconds `renewTime` of a Lease that nobody renewed may differ from its creationTimestamp. One is the
 * clock of OCM's hub controllers, the other that of the API server, and without fractions of a second.
 */
const clockDifferenceMs = 5_000;

/**
 * Who keeps the Lease of a cluster. `gateway`: this gateway does. `nobody`: the gateway may begin to. `undecided`: an
 * agent may still come; look again at `untilMs`. `other`: leave the cluster alone, for the reason in `why`; where it
 * depends on the time, look again at `untilMs`.
 */
export type Keeper =
  | { readonly who: 'gateway' | 'nobody' }
  | { readonly who: 'undecided'; readonly untilMs: number }
  | { readonly who: 'other'; readonly why: string; readonly untilMs?: number };

const alive = 'an agent of OCM is there';
const dead = 'an agent of OCM renewed its Lease once, and does so no more';
const known = 'the status of its ManagedCluster is that of an agent of OCM';
const unreadable = 'its Lease has no time that can be read';

/** Finds out who keeps the Lease of an accepted ManagedCluster. In doubt it is somebody else. */
export function keeperOf(lease: ApiObject | undefined, cluster: ApiObject, nowMs: number): Keeper {
  if (lease === undefined) return isAgentSeen(cluster) ? { who: 'other', why: known } : { who: 'nobody' };
  const renewedMs = renewedMsOf(lease);
  if (renewedMs === undefined) return { who: 'other', why: unreadable };
  const untilMs = renewedMs + graceTimes * durationMsOf(cluster);
  const isFresh = nowMs < untilMs;
  if (isMarked(lease)) {
    // An agent that has just come writes the status before it renews the Lease. If it does not renew it, it is none.
    return isFresh && isOtherAvailable(cluster) ? { who: 'other', why: alive, untilMs } : { who: 'gateway' };
  }
  if (!isUnused(lease, renewedMs)) return isFresh ? { who: 'other', why: alive, untilMs } : { who: 'other', why: dead };
  if (isAgentSeen(cluster)) return { who: 'other', why: known };
  // The gateway's Lease was deleted, and the hub was faster to make a new one. An agent would have written the status.
  if (isOwnAvailable(cluster)) return { who: 'nobody' };
  return isFresh ? { who: 'undecided', untilMs } : { who: 'nobody' };
}

/** Milliseconds between renewals, `spec.leaseDurationSeconds` of the ManagedCluster. */
export function durationMsOf(cluster: ApiObject): number {
  const seconds = fieldOf(cluster, 'spec', 'leaseDurationSeconds');
  return typeof seconds === 'number' && seconds > 0 ? seconds * 1000 : defaultDurationMs;
}

/** Whether the hub does not yet take the cluster for unreachable because of this Lease. */
export function isFreshLease(lease: ApiObject, cluster: ApiObject, nowMs: number): boolean {
  return nowMs < (renewedMsOf(lease) ?? 0) + graceTimes * durationMsOf(cluster);
}

/** Returns for how many milliseconds the Lease need not be renewed; 0 when it is to be renewed now. */
export function restMsOf(lease: ApiObject, cluster: ApiObject, nowMs: number): number {
  const periodMs = durationMsOf(cluster);
  const restMs = (renewedMsOf(lease) ?? 0) + periodMs - nowMs;
  // A time in the future was written by a replica whose clock is ahead.
  return restMs > 2 * periodMs ? 0 : Math.max(0, restMs);
}

/** Makes a Lease that is renewed now, with the label by which OCM's hub finds it. */
export function newLease(cluster: string, nowMs: number): object {
  const { metadata, spec } = renewal(nowMs);
  const labels = { 'open-cluster-management.io/cluster-name': cluster };
  return {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name: leaseName, namespace: cluster, labels, ...metadata },
    spec,
  };
}

/** Makes a merge patch that renews the Lease, unless somebody wrote it since it was read. */
export function renewalOf(lease: ApiObject, nowMs: number): object {
  const { metadata, spec } = renewal(nowMs);
  return { metadata: { resourceVersion: lease.metadata.resourceVersion, ...metadata }, spec };
}

function renewal(nowMs: number) {
  // metav1.MicroTime
  const renewTime = new Date(nowMs).toISOString().replace('Z', '000Z');
  return { metadata: { annotations: { [markAnnotation]: renewTime } }, spec: { holderIdentity: holder, renewTime } };
}

function isMarked(lease: ApiObject): boolean {
  const renewTime = textAt(lease, 'spec', 'renewTime');
  return (
    lease.metadata.annotations?.[markAnnotation] === renewTime && textAt(lease, 'spec', 'holderIdentity') === holder
  );
}

/** Whether the Lease is as the lease controller of OCM's hub made it, so that nobody has renewed it yet. */
function isUnused(lease: ApiObject, renewedMs: number): boolean {
  if (textAt(lease, 'spec', 'holderIdentity') !== hubHolder) return false;
  const createdMs = msOf(textAt(lease, 'metadata', 'creationTimestamp'));
  return createdMs !== undefined && Math.abs(renewedMs - createdMs) <= clockDifferenceMs;
}

function renewedMsOf(lease: ApiObject): number | undefined {
  return msOf(textAt(lease, 'spec', 'renewTime'));
}

function msOf(time: string): number | undefined {
  const ms = Date.parse(time);
  return Number.isNaN(ms) ? undefined : ms;
}
