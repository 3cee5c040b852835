// A complete HTTP/1.1 answer to bytes that are not a valid request. For such bytes there is no `Inbound` object to
// answer with.
import type { RawHeaders } from '../raw-headers.ts';
import { answerHead } from './http1-answer.ts';

/** The parts of an answer to bytes that are not a valid request. Headers whose value is '' are not sent. */
export interface RefusalAnswer {
  readonly status: number;
  readonly headers: RawHeaders;
  readonly body: Buffer;
}

export function answerBytes({ status, headers, body }: RefusalAnswer): Buffer {
  const filled: string[] = [];
  for (let i = 0; i < headers.length; i += 2) if (headers[i + 1] !== '') filled.push(headers[i]!, headers[i + 1]!);
  return Buffer.concat([Buffer.from(answerHead(status, filled, false, true).text, 'latin1'), body]);
}
