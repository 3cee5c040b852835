// Passes requests on to a real API server, all headers as they are, as Go's httputil.ReverseProxy does.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { request as httpsRequest } from 'node:https';

/**
 * Passes one request on.
 * @param onAnswer what becomes of the answer; by default it is passed back as it comes
 */
export function passOn(
  { url, caPem }: { readonly url: string; readonly caPem: string },
  request: IncomingMessage,
  response: ServerResponse,
  onAnswer: (answer: IncomingMessage) => void = (answer) => passBack(answer, response),
): void {
  const { hostname, port } = new URL(url);
  const { method = 'GET', url: path = '/', rawHeaders: headers } = request;
  const upstream = httpsRequest({ hostname, port, ca: caPem, agent: false, method, path, headers }, onAnswer);
  upstream.on('error', () => response.destroy());
  response.once('close', () => upstream.destroy());
  request.pipe(upstream);
}

function passBack(answer: IncomingMessage, response: ServerResponse): void {
  response.writeHead(answer.statusCode!, answer.rawHeaders);
  response.flushHeaders();
  answer.pipe(response);
  answer.on('error', () => response.destroy());
}
