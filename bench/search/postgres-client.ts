// One connection to PostgreSQL that asks and reads rows, as little as its protocol (version 3, simple query) allows: a driver would cost the rival more.
// Easy to get wrong: an answer ends with ReadyForQuery, also after an error, and the next question may be sent only then.
import { connect, type Socket } from 'node:net';

/** The first column of every row. */
export type FirstColumn = readonly Buffer[];

export interface PostgresConnection {
  /** One question at a time. @throws Error (rejects) with the server's message */
  readonly ask: (sql: string) => Promise<FirstColumn>;
  readonly close: () => void;
}

interface Waiting {
  readonly rows: Buffer[];
  error: Error | undefined;
  readonly resolve: (rows: FirstColumn) => void;
  readonly reject: (error: Error) => void;
}

const protocolVersion = 196_608;

/** @param directory of its unix socket, where everybody is trusted */
export function connectPostgres(directory: string): Promise<PostgresConnection> {
  const socket = connect(`${directory}/.s.PGSQL.5432`);
  return new Promise((ready, failed) => {
    let waiting: Waiting | undefined = {
      rows: [],
      error: undefined,
      resolve: () => ready(connection),
      reject: failed,
    };
    const connection: PostgresConnection = {
      ask: (sql) =>
        new Promise((resolve, reject) => {
          waiting = { rows: [], error: undefined, resolve, reject };
          const text = Buffer.from(`${sql}\0`);
          socket.write(Buffer.concat([Buffer.from('Q'), length(text.length + 4), text]));
        }),
      close: () => socket.destroy(),
    };
    socket.once('connect', () => {
      const text = Buffer.from('user\0bench\0database\0postgres\0\0');
      socket.write(Buffer.concat([length(text.length + 8), length(protocolVersion), text]));
    });
    socket.once('error', (error) => (waiting?.reject ?? failed)(error));
    readMessages(socket, (type, body) => {
      if (type === 'D') waiting?.rows.push(firstColumn(body));
      if (type === 'E' && waiting !== undefined) waiting.error = new Error(body.toString('utf8').replaceAll('\0', ' '));
      if (type !== 'Z' || waiting === undefined) return;
      const { rows, error, resolve, reject } = waiting;
      waiting = undefined;
      if (error === undefined) resolve(rows);
      else reject(error);
    });
  });
}

function length(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

/** DataRow: Int16 columns, then of each Int32 length (-1: null) and bytes. */
function firstColumn(body: Buffer): Buffer {
  const size = body.readInt32BE(2);
  return size < 0 ? Buffer.alloc(0) : body.subarray(6, 6 + size);
}

function readMessages(socket: Socket, onMessage: (type: string, body: Buffer) => void): void {
  let chunks: Buffer[] = [];
  let bytes = 0;
  let wanted = 5;
  socket.on('data', (chunk: Buffer) => {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes < wanted) return;
    let rest = Buffer.concat(chunks);
    wanted = 5;
    while (rest.length >= 5) {
      const size = 1 + rest.readInt32BE(1);
      if (rest.length < size) {
        wanted = size;
        break;
      }
      onMessage(String.fromCharCode(rest[0]!), rest.subarray(5, size));
      rest = rest.subarray(size);
    }
    chunks = [rest];
    bytes = rest.length;
  });
}
