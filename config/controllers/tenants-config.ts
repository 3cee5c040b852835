// The section of the configuration about TenantBinding objects, which grant rights in clusters. TenantBindings are off
// by default, since the gateway then writes to the hub and to the clusters in which rights are granted.
import { namespacedName, onOff } from '../settings/kinds.ts';
import type { NamespacedName } from '../settings/kinds.ts';
import { readSettings, refuseUnused } from '../settings/settings.ts';
import type { Settings, Written } from '../settings/settings.ts';

/** Settings for TenantBindings of the hub, when the operator has switched them on. */
export interface TenantsConfig {
  /** The Lease by which replicas elect the one that carries out TenantBindings. */
  readonly lease: NamespacedName;
  /** True when the gateway also executes OCM's ClusterPermissions. */
  readonly clusterPermissions: boolean;
}

/** The settings for TenantBindings. */
export const tenantsSettings = {
  tenantBindings: {
    kind: onOff,
    default: false,
    text: 'grant rights in clusters as [TenantBinding objects](../how-to/tenants.md) say, as their author; writes to the hub and to these clusters',
  },
  clusterPermissions: { kind: onOff, default: false, text: "do so for OCM's ClusterPermissions, too" },
  tenantsLease: {
    kind: namespacedName,
    default: 'portcullis-system/portcullis-tenants',
    text: 'Lease of the replica that does so',
  },
} satisfies Settings;

/**
 * Reads the settings for TenantBindings; undefined when they are off. `written.fault` is called for each setting that
 * is wrong.
 */
export function readTenantsConfig(written: Written): TenantsConfig | undefined {
  const { tenantBindings, tenantsLease: lease, clusterPermissions } = readSettings(tenantsSettings, written);
  if (tenantBindings) return Object.freeze({ lease, clusterPermissions });
  // `clusterPermissions: false` is no fault while TenantBindings are off, since it asks for nothing.
  const { clusterPermissions: _permissions, ...others } = tenantsSettings;
  refuseUnused(clusterPermissions ? tenantsSettings : others, 'tenantBindings', written);
  return undefined;
}
