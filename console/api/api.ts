// All requests of the console to the gateway are sent from here. The token is added, error answers become ApiErrors
// with the gateway's message, and the latest requests are kept for the health page.
import { signal } from '@preact/signals';

/**
 * The bearer token. Security: it is kept only in this variable, so it is gone when the page is closed or loaded again.
 */
let token: string | undefined;

/** Sends the bearer token with all further requests; with undefined, none is sent. */
export function setToken(next: string | undefined): void {
  token = next;
}

/**
 * Called when the gateway answers 401. Resolves to true when the token was renewed, so that the request should be sent
 * again.
 */
let onUnauthenticated: () => Promise<boolean> = () => Promise.resolve(false);

export function whenUnauthenticated(listener: () => Promise<boolean>): void {
  onUnauthenticated = listener;
}

let isUnreachable = false;
/** Counts how often the gateway has answered again after a request without an answer. */
export const reconnects = signal(0);

/** A request that this page has sent, for the health page. */
export interface OwnRequest {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly milliseconds: number;
  readonly auditId: string;
  readonly at: Date;
}

const mostRemembered = 50;
/** The latest requests, at most `mostRemembered`, the newest first. */
export const ownRequests = signal<readonly OwnRequest[]>([]);

/** Thrown for an answer that is not a success. `message` is the message of the gateway or the cluster. */
export class ApiError extends Error {
  readonly status: number;
  readonly reason: string;
  /** The audit id in the answer's headers; '' when no answer came. */
  readonly auditId: string;
  readonly retryAfterSeconds: number;
  readonly causes: readonly { readonly field?: string; readonly message?: string }[];

  constructor(status: number, body: Partial<StatusBody>, auditId: string, retryAfterSeconds = 0) {
    super(body.message ?? `HTTP ${status}`);
    this.status = status;
    this.reason = body.reason ?? '';
    this.auditId = auditId;
    this.retryAfterSeconds = retryAfterSeconds;
    this.causes = body.details?.causes ?? [];
  }
}

interface StatusBody {
  readonly message: string;
  readonly reason: string;
  readonly details?: { readonly causes?: readonly { readonly field?: string; readonly message?: string }[] };
}

export interface Asked {
  readonly method?: string;
  readonly accept?: string;
  readonly type?: string;
  readonly body?: string;
  readonly signal?: AbortSignal | undefined;
  /** Further request headers. */
  readonly more?: Readonly<Record<string, string>>;
}

export const tableForm = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json';

/**
 * Sends a request and returns its successful answer. When the gateway answers 401 and the token can be renewed, the
 * request is sent once more.
 * @throws ApiError for any other answer, and with status 0 when no answer came; DOMException AbortError when aborted
 */
export async function ask(path: string, asked: Asked = {}): Promise<Response> {
  const sentToken = token;
  const { answer, auditId } = await send(path, asked);
  if (answer.ok) return answer;
  const error = await errorOf(answer, auditId);
  if (error.status !== 401) throw error;
  const isRenewed = (token !== undefined && token !== sentToken) || (await onUnauthenticated());
  if (!isRenewed) throw error;
  const second = await send(path, asked);
  if (second.answer.ok) return second.answer;
  throw await errorOf(second.answer, second.auditId);
}

/**
 * Matches a path that a browser would change before it sends it: browsers resolve `.` and `..`, read a backslash as a
 * slash, drop line breaks, and read `//` as the beginning of another host.
 */
const rewritten = /^(?!\/)|^\/\/|^[^?]*(?:\/(?:\.|%2e){1,2}(?:[/?]|$)|\\)|[#\s]/i;

/**
 * Returns the path if a browser sends it unchanged. Security: a name from an object or from the address of the page
 * must not lead a request to another path or host.
 * @throws ApiError for any other path
 */
export function plainPath(path: string): string {
  if (!rewritten.test(path)) return path;
  throw new ApiError(400, { message: `${path} is not a path of the API.`, reason: 'BadRequest' }, '');
}

async function send(path: string, asked: Asked): Promise<{ readonly answer: Response; readonly auditId: string }> {
  const { method = 'GET', accept = 'application/json', type, body, signal, more } = asked;
  const headers: Record<string, string> = { accept, ...more };
  if (token !== undefined) headers['authorization'] = `Bearer ${token}`;
  if (type !== undefined || body !== undefined) headers['content-type'] = type ?? 'application/json';
  const startedMs = performance.now();
  let answer: Response;
  try {
    // Without a token, the browser may send its client certificate. With a token, only the token must identify the
    // user.
    const credentials = token === undefined ? 'same-origin' : 'omit';
    answer = await fetch(plainPath(path), {
      method,
      headers,
      credentials,
      cache: 'no-store',
      ...(body !== undefined && { body }),
      ...(signal && { signal }),
    });
  } catch (error) {
    if (signal?.aborted || error instanceof ApiError) throw error;
    isUnreachable = true;
    throw new ApiError(0, { message: 'The gateway does not answer.', reason: 'Unreachable' }, '');
  }
  if (isUnreachable) reconnects.value += 1;
  isUnreachable = false;
  const auditId = answer.headers.get('audit-id') ?? '';
  remember({
    method,
    path,
    status: answer.status,
    milliseconds: performance.now() - startedMs,
    auditId,
    at: new Date(),
  });
  return { answer, auditId };
}

async function errorOf(answer: Response, auditId: string): Promise<ApiError> {
  const text = await answer.text().catch(() => '');
  const retryAfter = Number(answer.headers.get('retry-after') ?? 0);
  try {
    return new ApiError(answer.status, JSON.parse(text) as StatusBody, auditId, retryAfter);
  } catch {
    return new ApiError(answer.status, { message: text.slice(0, 500) || `HTTP ${answer.status}` }, auditId, retryAfter);
  }
}

function remember(request: OwnRequest): void {
  ownRequests.value = [request, ...ownRequests.value].slice(0, mostRemembered);
}

/**
 * Sends a request and returns the JSON document of its answer, with the warnings from its headers.
 * @throws ApiError as `ask` does, and for an answer that is not JSON, such as the page of a proxy in between
 */
export async function askJson<T>(path: string, asked?: Asked): Promise<T & { readonly warnings: readonly string[] }> {
  const answer = await ask(path, asked);
  const document = (await answer.json().catch((error: unknown) => {
    if (asked?.signal?.aborted) throw error;
    const type = answer.headers.get('content-type') ?? 'no content type';
    const message = `An object was asked for, but the answer is none (${type}).`;
    throw new ApiError(502, { message, reason: 'NotAnObject' }, answer.headers.get('audit-id') ?? '');
  })) as T;
  return { ...document, warnings: warningsOf(answer) };
}

export function post<T>(
  path: string,
  body: object,
  signal?: AbortSignal,
): Promise<T & { readonly warnings: readonly string[] }> {
  return askJson<T>(path, { method: 'POST', body: JSON.stringify(body), signal });
}

/** Returns the texts of `Warning: 299 - "text"` headers. fetch() joins these headers into one, separated by commas. */
export function warningsOf(answer: Pick<Response, 'headers'>): readonly string[] {
  const joined = answer.headers.get('warning') ?? '';
  return [...joined.matchAll(/299 \S+ "((?:[^"\\]|\\.)*)"/g)].map(([, text]) => text!.replaceAll(/\\(.)/g, '$1'));
}

/** Yields the lines of an answer as they arrive. A last line without a line break is yielded when the answer ends. */
export async function* linesOf(answer: Response): AsyncGenerator<readonly string[]> {
  const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    const lines = (rest + value).split('\n');
    rest = lines.pop()!;
    if (lines.length > 0) yield lines;
  }
  if (rest !== '') yield [rest];
}

/**
 * Opens a WebSocket to a path of the gateway. The token is sent as a subprotocol, since browsers cannot set headers of
 * a WebSocket; Kubernetes accepts this form.
 */
export function openSocket(path: string, protocol: string): WebSocket {
  const protocols = [protocol];
  if (token !== undefined) protocols.push(`base64url.bearer.authorization.k8s.io.${base64url(token)}`);
  const socket = new WebSocket(`wss://${location.host}${plainPath(path)}`, protocols);
  socket.binaryType = 'arraybuffer';
  return socket;
}

function base64url(text: string): string {
  return btoa(String.fromCodePoint(...new TextEncoder().encode(text)))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replace(/=+$/, '');
}
