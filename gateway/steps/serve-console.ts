// Step 5 of the chain: answers requests for the files of the web console. These files are the same for everybody, so no
// authentication is needed for them. Requests that the console's page sends to the API pass all steps, like those of
// any client.
import { GatewayError } from '../../model/errors.ts';
import { loginPath } from '../console/console.ts';
import { sendComplete } from '../../request/answer/send-complete.ts';
import type { ChainDependencies } from './chain-dependencies.ts';
import type { Described } from '../../request/exchange.ts';
import { answered } from './step.ts';

export function serveConsole(state: Described, { console }: ChainDependencies): Described | typeof answered {
  const { surface, inbound, host, auditId } = state;
  if (surface.kind !== 'console') return state;
  if (console === undefined) throw new GatewayError('NOT_FOUND', 'the server could not find the requested resource');
  const isLogin = inbound.method === 'POST' && surface.path === loginPath;
  if (inbound.method !== 'GET' && inbound.method !== 'HEAD' && !isLogin) {
    throw new GatewayError('METHOD_NOT_ALLOWED', 'only GET and HEAD are allowed on this path');
  }
  sendComplete(state, console({ method: inbound.method, path: surface.path, host, headers: inbound.headers, auditId }));
  return answered;
}
