// Adapts a request to the endpoint it is sent to. A request is built for the preferred endpoint of a cluster; another
// endpoint needs another `Host` header and base path.
import type { Endpoint } from '../../model/records.ts';
import type { UpstreamRequest } from '../call/transport-types.ts';

/** Value of the `Host` header, without the port when it is the default port of the scheme (RFC 9110 section 7.2). */
export function hostHeader({ host, port, scheme }: Endpoint): string {
  const name = host.includes(':') ? `[${host}]` : host;
  return port === (scheme === 'https' ? 443 : 80) ? name : `${name}:${port}`;
}

/** Makes the request for endpoint `to` from a request that was built for endpoint `from`. */
export function requestFor(request: UpstreamRequest, from: Endpoint, to: Endpoint): UpstreamRequest {
  if (from === to) return request;
  const headers = [...request.headers];
  headers[1] = hostHeader(to);
  // `headText` is the prepared text of the headers with the Host of `from`, so it is dropped. The HTTP/1.1 client then
  // writes the head from `headers`.
  const target = to.basePath + request.target.slice(from.basePath.length);
  return { ...request, headText: undefined, headers, target };
}
