// The whole answer to bytes that are no request, for which there is no `Inbound` to answer on.
import type { RawHeaders } from '../raw-headers.ts';
import { answerHead } from './http1-answer.ts';

/** Header values of a refusal that are '' are left out. */
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
