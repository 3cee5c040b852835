// Makes the attributes with which the authorizer is asked whether a request is allowed.
import type { Attributes, AttributesOuter } from '../auth/rules/attributes.ts';
import type { User } from '../model/user.ts';
import type { RequestInfo } from './request-info.ts';

/**
 * Makes the attributes of one request that the authorizer decides about. The index also uses this function, for
 * requests that it sends to a cluster.
 */
export function attributesOf(
  user: User,
  cluster: Attributes['cluster'],
  outer: AttributesOuter | undefined,
  info: RequestInfo,
  path: string,
): Attributes {
  return {
    user,
    verb: info.verb,
    cluster,
    outer,
    resourceRequest: info.isResource,
    apiGroup: info.apiGroup,
    apiVersion: info.apiVersion,
    resource: info.resource,
    subresource: info.subresource,
    namespace: info.namespace,
    name: info.name,
    path: info.isResource ? '' : path,
  };
}
