// The API server itself without a proxy. The load generator sends the gateway's credential and impersonation headers,
// because without impersonation the API server would do less work than behind a gateway. Latencies of the proxies are
// compared with those of this target.
import { impersonatingHeaders } from '../site.ts';
import type { Target } from './target.ts';

export const direct: Target = {
  name: 'direct',
  title: 'direct, impersonating',
  protocols: ['h1', 'h2'],
  version: () => Promise.resolve(''),
  start: (site) =>
    Promise.resolve({
      address: `${site.member.host}:${site.member.port}`,
      caFile: site.member.caFile,
      prefix: '',
      headers: impersonatingHeaders(site),
      pid: undefined,
      stop: () => Promise.resolve(),
    }),
};
