// Sends an answer whose whole body is in memory.
import type { Received } from '../exchange.ts';
import type { CompleteResponse } from './status.ts';

/**
 * Sends the answer, without its body for HEAD and 304, and adds its bytes to the request's progress (for metrics and
 * log).
 */
export function sendComplete(state: Received, { status, headers, body }: CompleteResponse): void {
  const { inbound, progress } = state;
  const bodyless = inbound.method === 'HEAD' || status === 304;
  progress.status = status;
  progress.onAnswering?.();
  inbound.respond(status, headers, bodyless);
  if (!bodyless) {
    progress.bytesOut += body.length;
    inbound.write(body);
  }
  inbound.end();
}
