// The forms that Kubernetes requires of the parts of an API path. Groups, versions and names that were read from an
// object may have been written by anybody, and a path that is built of unchecked text may lead to another object.

export const rbacGroup = 'rbac.authorization.k8s.io';

const label = /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/;
const subdomain = /^(?=.{1,253}$)[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/;
const kindForm = /^[A-Za-z][A-Za-z0-9]{0,62}$/;

/** Whether the text can be an API group; '' is the core group. */
export function isGroup(text: string): boolean {
  return text === '' || isSubdomain(text);
}

/** Whether the text is a DNS subdomain (RFC 1123) of at most 253 characters, as names of most objects are. */
export function isSubdomain(text: string): boolean {
  return subdomain.test(text);
}

/**
 * Whether the text is a DNS label (RFC 1123): it can be a version of an API group, the plural name of a type, a
 * namespace, or a cluster.
 */
export function isLabel(text: string): boolean {
  return label.test(text);
}

/** Whether the text can be a kind. */
export function isKind(text: string): boolean {
  return kindForm.test(text);
}

/**
 * Whether the text can be the name of an object: one segment of a path
 * (apimachinery:pkg/api/validation/path, IsValidPathSegmentName), and without control characters.
 */
export function isName(text: string): boolean {
  return text !== '' && text !== '.' && text !== '..' && !/[/%\p{Cc}]/u.test(text) && text.isWellFormed();
}
