// What of a request names the endpoint it goes to: `Host` and the base path. A request is built for the first endpoint
// of a cluster; on its way to another one both change together.
import type { Endpoint } from '../../cache/model/records.ts';
import type { UpstreamRequest } from '../members/transport-types.ts';

/** Value of `Host`: the port is left out when it is the scheme's own (RFC 9110 section 7.2). */
export function hostHeader({ host, port, scheme }: Endpoint): string {
  const name = host.includes(':') ? `[${host}]` : host;
  return port === (scheme === 'https' ? 443 : 80) ? name : `${name}:${port}`;
}

/** The request as the endpoint `to` must see it, made from the one for `from`. */
export function requestFor(request: UpstreamRequest, from: Endpoint, to: Endpoint): UpstreamRequest {
  if (from === to) return request;
  const headers = [...request.headers];
  headers[1] = hostHeader(to);
  // What was made ready to be written names the first endpoint.
  const target = to.basePath + request.target.slice(from.basePath.length);
  return { ...request, headText: undefined, headers, target };
}
