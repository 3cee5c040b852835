// kubectl as a user of the gateway, and raw requests to it, for tests that look at one side only.
import { spawn } from 'node:child_process';
import { request as httpsRequest } from 'node:https';
import type { IncomingHttpHeaders } from 'node:http';
import type { GatewayProcess } from '../../gateway-process.ts';

/** A finished kubectl. */
export interface KubectlResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly elapsedMs: number;
}

/** Runs kubectl against a path of the gateway: `/clusters/m1/proxy`, or '' for the gateway's own API. */
export function kubectlAs(
  kubectl: string,
  gateway: GatewayProcess,
  token: string,
  path: string,
  args: readonly string[],
  options: { readonly home?: string; readonly timeoutMs?: number; readonly stdin?: string } = {},
): Promise<KubectlResult> {
  const started = performance.now();
  const child = spawn(
    kubectl,
    ['--server', gateway.url + path, '--certificate-authority', gateway.caFile, '--token', token, ...args],
    {
      stdio: ['pipe', 'pipe', 'pipe'],
      env: { PATH: process.env['PATH'] ?? '', HOME: options.home ?? gateway.dataDir, KUBECONFIG: '/dev/null' },
    },
  );
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  child.stdin.on('error', () => undefined);
  child.stdin.end(options.stdin);
  const timer = setTimeout(() => child.kill('SIGKILL'), options.timeoutMs ?? 60_000);
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => {
      clearTimeout(timer);
      resolve({ code, stdout, stderr, elapsedMs: performance.now() - started });
    });
  });
}

/** A whole answer. */
export interface RawAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly rawHeaders: readonly string[];
  readonly body: Buffer;
}

/** One HTTP/1.1 request to the gateway. Rejects when the answer is cut. */
export function ask(
  gateway: GatewayProcess,
  token: string,
  method: string,
  path: string,
  body?: string | Buffer,
  headers: Readonly<Record<string, string>> = {},
): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    const request = httpsRequest(
      `${gateway.url}${path}`,
      {
        method,
        ca: gateway.caPem,
        agent: false,
        headers: {
          ...(token === '' ? {} : { authorization: `Bearer ${token}` }),
          ...(body === undefined
            ? {}
            : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
          ...headers,
        },
      },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () =>
          resolve({
            status: response.statusCode!,
            headers: response.headers,
            rawHeaders: response.rawHeaders,
            body: Buffer.concat(chunks),
          }),
        );
      },
    );
    request.on('error', reject);
    request.end(body);
  });
}

/** Cells of a table that kubectl printed, header included. */
export function tableCells(text: string): string[][] {
  return text
    .trimEnd()
    .split('\n')
    .map((line) => line.split(/ {2,}/).map((cell) => cell.trim()));
}
