// Names and attributes of spans, by OpenTelemetry's HTTP conventions. Security: a query may contain a token, so no
// attribute contains the query. The number of different span names must stay small, so names of objects appear only in
// `url.path`.
import type { Attributes } from '@opentelemetry/api';
import {
  ATTR_CLIENT_ADDRESS,
  ATTR_ERROR_TYPE,
  ATTR_HTTP_REQUEST_METHOD,
  ATTR_HTTP_REQUEST_METHOD_ORIGINAL,
  ATTR_HTTP_RESPONSE_STATUS_CODE,
  ATTR_HTTP_ROUTE,
  ATTR_NETWORK_PROTOCOL_VERSION,
  ATTR_SERVER_ADDRESS,
  ATTR_SERVER_PORT,
  ATTR_URL_FULL,
  ATTR_URL_PATH,
  ATTR_URL_SCHEME,
  ATTR_USER_AGENT_ORIGINAL,
} from '@opentelemetry/semantic-conventions';
import { GatewayError } from '../../model/errors.ts';
import type { ClusterSpec } from '../../model/records.ts';
import { headerValues } from '../../http/raw-headers.ts';
import type { Described } from '../../request/exchange.ts';
import { formatHostPort } from '../../lib/text/host-port.ts';
import type { RequestInfo } from '../../request/request-info.ts';

/**
 * The attribute names are written out here, because OpenTelemetry's package has no constants for conventions that are
 * still "in development".
 */
const attrClusterName = 'k8s.cluster.name';
const attrNamespaceName = 'k8s.namespace.name';
/**
 * kube-apiserver's name for this attribute (apiserver/pkg/endpoints/filters/traces.go). It connects a trace with the
 * audit logs of the gateway and the cluster.
 */
const attrAuditId = 'audit-id';

const knownMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/**
 * The path of a resource with placeholders for names, as in kube-apiserver's spans, for example
 * `/api/v1/namespaces/{namespace}/pods/{name}`; '' when the request is not about a resource.
 */
export function resourceRoute(info: RequestInfo): string {
  if (!info.isResource) return '';
  const group = info.apiGroup === '' ? '/api' : `/apis/${info.apiGroup}`;
  const namespace = info.namespace !== '' && info.resource !== 'namespaces' ? '/namespaces/{namespace}' : '';
  // A list whose field selector names one object has a name too, but its verb is still `list`.
  const isOfOne = info.name !== '' && !['list', 'watch', 'deletecollection'].includes(info.verb);
  const subresource = info.subresource === '' ? '' : `/${info.subresource}`;
  return `${group}/${info.apiVersion}${namespace}/${info.resource}${isOfOne ? '/{name}' : ''}${subresource}`;
}

/** Name and first attributes of a server span, which covers a whole request. */
export function serverSpan(state: Described): { readonly name: string; readonly attributes: Attributes } {
  const { inbound, info, surface, target, peer, observation, auditId } = state;
  const route = resourceRoute(info);
  const fullRoute = surface.kind === 'member' && route !== '' ? `/clusters/{cluster}/proxy${route}` : route;
  const { method, ...methodAttributes } = methodOf(inbound.method);
  const userAgent = headerValues(inbound.headers, 'user-agent')[0];
  return {
    name: fullRoute === '' ? method : `${method} ${fullRoute}`,
    attributes: {
      ...methodAttributes,
      ...(fullRoute === '' ? {} : { [ATTR_HTTP_ROUTE]: fullRoute }),
      [ATTR_URL_SCHEME]: 'https',
      [ATTR_URL_PATH]: target.path,
      ...serverAttributes(state.host),
      [ATTR_NETWORK_PROTOCOL_VERSION]: inbound.protocol === 'HTTP/2.0' ? '2' : inbound.protocol.slice('HTTP/'.length),
      [ATTR_CLIENT_ADDRESS]: peer.address,
      ...(userAgent === undefined ? {} : { [ATTR_USER_AGENT_ORIGINAL]: userAgent }),
      ...(observation.cluster === '' ? {} : { [attrClusterName]: observation.cluster }),
      ...kubernetesAttributes(info, observation.verb),
      [attrAuditId]: auditId,
    },
  };
}

/** Name and attributes of a client span, which covers the call to a cluster. Security: `url.full` has no query. */
export function clientSpan(
  { inbound, info, surface, observation }: Described,
  cluster: ClusterSpec,
): { readonly name: string; readonly attributes: Attributes } {
  const { method, ...methodAttributes } = methodOf(inbound.method);
  const route = resourceRoute(info);
  const { host, port, basePath } = cluster.endpoint ?? { host: '', port: 0, basePath: '' };
  const path = surface.kind === 'member' ? surface.path : '';
  return {
    name: route === '' ? method : `${method} ${route}`,
    attributes: {
      ...methodAttributes,
      [ATTR_SERVER_ADDRESS]: host,
      [ATTR_SERVER_PORT]: port,
      [ATTR_URL_FULL]: `https://${formatHostPort({ host, port })}${basePath}${path}`,
      [attrClusterName]: cluster.name,
      ...kubernetesAttributes(info, observation.verb),
    },
  };
}

/**
 * The attributes that are added to a span when its call ends: the status, and the error if there is one.
 * @param faultFrom HTTP statuses from this number on count as errors
 */
export function endAttributes(status: number, error: unknown, faultFrom: number): Attributes {
  const type = error === undefined ? (status >= faultFrom ? String(status) : undefined) : errorType(error);
  return {
    ...(status === 0 ? {} : { [ATTR_HTTP_RESPONSE_STATUS_CODE]: status }),
    ...(type === undefined ? {} : { [ATTR_ERROR_TYPE]: type }),
  };
}

function errorType(error: unknown): string {
  if (error instanceof GatewayError) return error.code;
  return typeof error === 'string' ? error : 'INTERNAL';
}

function methodOf(method: string): Attributes & { readonly method: string } {
  return knownMethods.has(method)
    ? { method, [ATTR_HTTP_REQUEST_METHOD]: method }
    : { method: 'HTTP', [ATTR_HTTP_REQUEST_METHOD]: '_OTHER', [ATTR_HTTP_REQUEST_METHOD_ORIGINAL]: method };
}

function serverAttributes(host: string): Attributes {
  const match = /^(?:\[([^\]]+)\]|([^:]+))(?::(\d{1,5}))?$/.exec(host);
  const address = match?.[1] ?? match?.[2];
  if (address === undefined) return {};
  return {
    [ATTR_SERVER_ADDRESS]: address,
    ...(match?.[3] === undefined ? {} : { [ATTR_SERVER_PORT]: Number(match[3]) }),
  };
}

function kubernetesAttributes(info: RequestInfo, verb: string): Attributes {
  if (!info.isResource) return { 'k8s.request.verb': verb };
  return {
    'k8s.request.verb': verb,
    'k8s.request.group': info.apiGroup,
    'k8s.request.version': info.apiVersion,
    'k8s.request.resource': info.resource,
    ...(info.subresource === '' ? {} : { 'k8s.request.subresource': info.subresource }),
    ...(info.namespace === '' ? {} : { [attrNamespaceName]: info.namespace }),
  };
}
