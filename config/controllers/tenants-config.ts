// The section of the configuration about TenantBinding objects, which grant rights in clusters. TenantBindings are off
// by default, since the gateway then writes to the hub and to the clusters in which rights are granted.
import { z } from 'zod';
import { readLease, refuseUnused } from '../values/values.ts';
import type { Fault, Given, LeaseName } from '../values/values.ts';

/** Settings for TenantBindings of the hub, when the operator has switched them on. */
export interface TenantsConfig {
  /** The Lease by which replicas elect the one that carries out TenantBindings. */
  readonly lease: LeaseName;
  /** True when the gateway also executes OCM's ClusterPermissions. */
  readonly clusterPermissions: boolean;
}

/** Schema of the settings for TenantBindings in the configuration file. */
export const tenantsFileFields = {
  tenantBindings: z.boolean().optional(),
  tenantsLease: z.string().min(1).optional(),
  clusterPermissions: z.boolean().optional(),
};

/** The settings of TenantBindings as the operator wrote them, before they are checked. */
export type TenantsInput = Given<typeof tenantsFileFields>;

export const defaultTenantsLease = 'portcullis-system/portcullis-tenants';

/**
 * Checks the settings for TenantBindings; undefined when they are off. `fault` is called for each setting that is
 * wrong.
 * @param given value of the flag, or of the configuration file when the flag is absent
 */
export function readTenantsConfig(given: TenantsInput, fault: Fault): TenantsConfig | undefined {
  const { tenantBindings, tenantsLease, clusterPermissions } = given;
  if (tenantBindings !== true) {
    const { clusterPermissions: isAsked, ...others } = given;
    refuseUnused(isAsked === true ? given : others, tenantsFileFields, 'tenantBindings', fault);
    return undefined;
  }
  return Object.freeze({
    lease: readLease('--tenants-lease', tenantsLease ?? defaultTenantsLease, fault),
    clusterPermissions: clusterPermissions ?? false,
  });
}
