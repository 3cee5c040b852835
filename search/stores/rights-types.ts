// Which types decide who sees what, so that a store can say how new its rights are (`ReadPoint.rightsVersion`).
import { rbacGroup } from '../rights/rbac.ts';
import type { TypeKey } from '../types.ts';

/** Whether objects of a type are roles or bindings of RBAC. */
export function isRightsType(key: TypeKey): boolean {
  return key.slice(key.indexOf('.') + 1) === rbacGroup;
}
