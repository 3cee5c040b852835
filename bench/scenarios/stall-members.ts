// Twenty API servers in one process for the scenario `stall`. Each answers after a delay. After the input line "stall"
// the last server stops answering, after "answer" it answers again. A stalled server still accepts connections;
// refusing connections would be another fault that is easier to handle.
import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';

/** Content of the settings file, whose path is the only command line argument. */
interface Settings {
  readonly count: number;
  readonly delayMs: number;
  readonly token: string;
  readonly certPem: string;
  readonly keyPem: string;
}

const configMap = JSON.stringify({ kind: 'ConfigMap', apiVersion: 'v1', data: { text: 'portcullis '.repeat(80) } });

function answer(settings: Settings, request: IncomingMessage, response: ServerResponse): void {
  const send = (status: number, body: string): void => {
    if (!response.destroyed) response.writeHead(status, { 'content-type': 'application/json' }).end(body);
  };
  const impersonated = request.headers['impersonate-user'] !== undefined;
  if (request.headers.authorization !== `Bearer ${settings.token}`) send(401, '{}');
  else if (request.url === '/version') send(200, JSON.stringify({ gitVersion: 'v1.36.3-stall' }));
  else if (request.url?.includes('/selfsubject'))
    send(201, JSON.stringify({ status: { allowed: true, userInfo: {} } }));
  else if (request.url?.includes('yz')) send(200, 'ok');
  else send(impersonated ? 200 : 403, configMap);
}

async function start(settings: Settings): Promise<void> {
  let stalled = false;
  const waiting = new Set<() => void>();
  const ports: number[] = [];
  for (let index = 0; index < settings.count; index += 1) {
    const last = index === settings.count - 1;
    const server = createServer({ cert: settings.certPem, key: settings.keyPem }, (request, response) => {
      request.resume();
      const later = (): void => {
        setTimeout(() => answer(settings, request, response), settings.delayMs);
      };
      if (last && stalled) waiting.add(later);
      else later();
    });
    server.keepAliveTimeout = 60_000;
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    ports.push((server.address() as AddressInfo).port);
  }
  createInterface({ input: process.stdin })
    .on('line', (line) => {
      stalled = line === 'stall';
      if (stalled) return;
      for (const release of waiting) release();
      waiting.clear();
    })
    // Standard input is closed when the benchmark that started this process has ended.
    .on('close', () => process.exit(0));
  process.stdout.write(`${JSON.stringify(ports)}\n`);
}

await start(JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')) as Settings);
