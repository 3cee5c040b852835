// The types that decide who may see what. A store needs them to say how recent the roles and bindings in it are
// (`ReadPoint.rightsVersion`).
import { rbacGroup } from '../lib/objects/api-names.ts';
import type { TypeKey } from '../query/types.ts';

/** Whether objects of the type are roles or bindings of RBAC. */
export function isRightsType(key: TypeKey): boolean {
  return key.slice(key.indexOf('.') + 1) === rbacGroup;
}
