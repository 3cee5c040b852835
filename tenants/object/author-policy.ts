// Admission policies for the hub, by which each TenantBinding and ClusterPermission names who changed its spec last.
import { makeStampPolicy } from '../../distribute/stamp/stamp-policy.ts';
import { clusterPermissions } from './cluster-permission.ts';
import { tenantBindings } from './tenant-binding.ts';

export const authorPolicy = makeStampPolicy({
  name: 'portcullis-tenant-author',
  types: [tenantBindings.type, clusterPermissions.type],
  changes: 'object.?spec != oldObject.?spec',
});

export const { mutation: authorMutation, validation: authorValidation, fault: policyFault } = authorPolicy;
