// Entry point of this folder: elects a leader among all replicas, and reconciles TenantBindings and ClusterPermissions
// in the leader.
import { startLed } from '../controllers/leader/elected.ts';
import type { LeaseFaults } from '../controllers/leader/lease-faults.ts';
import { Grants, type GrantsOptions } from './grants.ts';
import { clusterPermissions } from './object/cluster-permission.ts';
import { tenantBindings } from './object/tenant-binding.ts';
import type { Phase } from './object/grant.ts';

export interface TenantsOptions extends GrantsOptions {
  readonly lease: { readonly namespace: string; readonly name: string };
  /** Is told when the Lease cannot be used. */
  readonly leases: LeaseFaults;
}

export interface Tenants {
  /**
   * In how many clusters the grants (TenantBindings and ClusterPermissions) are in each phase; undefined while another
   * replica is the leader.
   */
  numbers(): Readonly<Record<Phase, number>> | undefined;
  /** Stops the controller and releases the Lease. */
  close(): Promise<void>;
}

/** Starts the election and returns at once; requests to the hub follow in the background. */
export function startTenants(options: TenantsOptions): Tenants {
  const kinds = options.clusterPermissions ? [tenantBindings, clusterPermissions] : [tenantBindings];
  const awaited = kinds.map(({ type, appliedType }) => ({ type, condition: appliedType }));
  const led = startLed({ ...options, what: 'tenants', awaited }, () => new Grants(options));
  return { numbers: () => led.current()?.numbers(), close: () => led.close() };
}
