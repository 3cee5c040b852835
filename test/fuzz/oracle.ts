// Asks Go how it reads a connection: one long-lived process, many cases at a time. Cases and answers are matched by
// their order alone, so every case must get its line.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { ensureBinaries } from '../controlplane/build.ts';

/** A request Go's server called its handler for; texts are latin1. */
export interface GoRequest {
  readonly method: string;
  readonly target: string;
  /** Percent-decoded. */
  readonly path: string;
  readonly host: string;
  readonly headers: Readonly<Record<string, readonly string[]>>;
  readonly body: string;
  readonly bodyError?: string;
  readonly info: {
    readonly error?: string;
    readonly isResource: boolean;
    readonly verb: string;
    readonly apiGroup: string;
    readonly apiVersion: string;
    readonly namespace: string;
    readonly resource: string;
    readonly subresource: string;
    readonly name: string;
    readonly parts: readonly string[];
  };
  /** Whom an API server takes it for, whose own credential may impersonate everybody. */
  readonly user: {
    /** What kept it from arriving at anybody. */
    readonly refusal?: string;
    readonly name: string;
    readonly uid: string;
    readonly groups: readonly string[];
    readonly extra: Readonly<Record<string, readonly string[]>>;
  };
}

/** What Go's server did with a connection. */
export interface Verdict {
  readonly requests: readonly GoRequest[];
  /** What it wrote to refuse the rest. */
  readonly refusal?: string;
}

/** Go, waiting for connections to read. */
export interface Oracle {
  /** One verdict a connection, in order. */
  ask(connections: readonly Buffer[]): Promise<readonly Verdict[]>;
  close(): void;
}

/**
 * Starts it, built first where it is missing (needs Go then).
 * @throws Error (rejects) without Go
 */
export async function startOracle(): Promise<Oracle> {
  const binary = (await ensureBinaries(['fuzz-oracle']))['fuzz-oracle']!;
  const child = spawn(binary, [], { stdio: ['pipe', 'pipe', 'inherit'] });
  const waiting: ((line: string | Error) => void)[] = [];
  let ended: Error | undefined;
  const end = (error: Error): void => {
    ended ??= error;
    for (const tell of waiting.splice(0)) tell(ended);
  };
  child.once('error', end);
  child.once('close', (code) => end(new Error(`the Go oracle ended with ${code ?? 'a signal'}`)));
  child.stdin.on('error', () => undefined);
  createInterface({ input: child.stdout }).on('line', (line) => waiting.shift()?.(line));
  return {
    async ask(connections) {
      if (ended !== undefined) throw ended;
      const answers = connections.map(
        () =>
          new Promise<Verdict>((resolve, reject) => {
            waiting.push((line) => (typeof line === 'string' ? resolve(JSON.parse(line) as Verdict) : reject(line)));
          }),
      );
      const parts = connections.flatMap((bytes) => {
        const length = Buffer.alloc(4);
        length.writeUInt32BE(bytes.length);
        return [length, bytes];
      });
      child.stdin.write(Buffer.concat(parts));
      return Promise.all(answers);
    },
    close() {
      child.stdin.end();
    },
  };
}
