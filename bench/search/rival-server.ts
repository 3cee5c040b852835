// The rival over HTTP: Clusterpedia's table behind a small server, as a process of its own. Easy to get wrong: it must do what Clusterpedia does and no
// more: each row is decoded and encoded (its internalstorage decodes to objects, its API server encodes them), but nothing is authorized, audited or
// converted. `node rival-server.ts SOCKET-DIR CERT KEY TOKEN`
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';

import { connectPostgres, type PostgresConnection } from './postgres-client.ts';

const [directory, certFile, keyFile, token] = process.argv.slice(2) as [string, string, string, string];
const connections = 4;
const idle: PostgresConnection[] = await Promise.all(
  Array.from({ length: connections }, () => connectPostgres(directory)),
);
const waiting: ((connection: PostgresConnection) => void)[] = [];

async function ask(sql: string): Promise<readonly Buffer[]> {
  const connection = idle.pop() ?? (await new Promise<PostgresConnection>((resolve) => waiting.push(resolve)));
  try {
    return await connection.ask(sql);
  } finally {
    const next = waiting.shift();
    if (next === undefined) idle.push(connection);
    else next(connection);
  }
}

function recoded(row: Buffer): Buffer {
  return Buffer.from(JSON.stringify(JSON.parse(row.toString('utf8'))));
}

const separator = Buffer.from(',');
const head = Buffer.from('{"kind":"List","apiVersion":"v1","metadata":{},"items":[');
const tail = Buffer.from(']}\n');

const server = createServer({ cert: readFileSync(certFile), key: readFileSync(keyFile) }, (request, response) => {
  const fail = (status: number, text: string): void => {
    response.writeHead(status);
    response.end(text);
  };
  if (request.headers.authorization !== `Bearer ${token}`) {
    fail(401, 'who asks?');
    return;
  }
  const sql = new URLSearchParams(request.url!.split('?')[1]).get('sql') ?? '';
  ask(sql).then(
    (rows) => {
      const items = rows.map(recoded).flatMap((row, i) => (i === 0 ? [row] : [separator, row]));
      const body = Buffer.concat([head, ...items, tail]);
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length });
      response.end(body);
    },
    (error: unknown) => fail(500, String(error)),
  );
});
server.listen(0, '127.0.0.1', () => process.stdout.write(`${(server.address() as AddressInfo).port}\n`));
