// Somebody who asks both clusters behind every case, over a connection that lives on: whoever sits behind the fuzzer
// must be served as themselves. The witness goes over the connections to members that the case has used, which is the
// point.
import type { TLSSocket } from 'node:tls';
import type { Endpoint } from '../../site/raw-client.ts';
import { witness } from './case.ts';
import { basePaths } from './site.ts';
import { dueMs, openSocket } from './socket.ts';

/** See the file comment. */
export interface Witness {
  /** `200 witness` when all is well, else what came. */
  ask(): Promise<string>;
  close(): void;
}

/** Asks over a connection that is opened when it is needed. */
export function openWitness(endpoint: Endpoint): Witness {
  const line: { socket: TLSSocket | undefined; text: string } = { socket: undefined, text: '' };
  let wake = Promise.withResolvers<void>();
  const stir = (): void => {
    wake.resolve();
    wake = Promise.withResolvers();
  };
  const open = async (): Promise<TLSSocket> => {
    const opened = await openSocket(endpoint, 'http/1.1');
    line.text = '';
    opened.on('data', (chunk: Buffer) => {
      line.text += chunk.toString('latin1');
      stir();
    });
    opened.on('close', () => {
      line.socket = undefined;
      stir();
    });
    return opened;
  };
  return {
    async ask() {
      const answers: string[] = [];
      for (const cluster of Object.keys(basePaths)) {
        const socket = (line.socket ??= await open());
        line.text = '';
        socket.write(
          `GET /clusters/${cluster}/proxy/api/v1/namespaces/w/configmaps/w HTTP/1.1\r\nHost: gateway.test\r\n` +
            `Authorization: Bearer ${witness.token}\r\n\r\n`,
        );
        const timer = setTimeout(stir, dueMs);
        const untilMs = performance.now() + dueMs;
        while (
          !line.text.endsWith('}') &&
          !line.text.endsWith('}\n') &&
          line.socket !== undefined &&
          performance.now() < untilMs
        )
          await wake.promise;
        clearTimeout(timer);
        answers.push(`${line.text.slice(9, 12)} ${/"user":"([^"]*)"/.exec(line.text)?.[1] ?? 'nobody'}`);
      }
      return answers.find((answer) => answer !== `200 ${witness.name}`) ?? answers[0]!;
    },
    close: () => void line.socket?.destroy(),
  };
}
