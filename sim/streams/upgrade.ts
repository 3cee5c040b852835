// Answers upgrade requests for exec, attach and port-forward as kube-apiserver and kubelet do, and starts the stream. A
// refusal is written directly to the socket as an HTTP/1.1 response with a Content-Length, after which the connection
// is closed.
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { createWebSocketStream, WebSocketServer, type WebSocket } from 'ws';
import { isTrue } from '../model/request-info.ts';
import type { UpgradeRequest } from './stream-hooks.ts';
import type { JsonObject, KubeObject } from '../model/types.ts';
import { openChannels, openSpdyStreams, type CommandStreams, type WantedStreams } from './command-streams.ts';
import type { Clock } from './clock.ts';
import type { Container, Containers } from './shell/containers.ts';
import { runAttach, runExec } from './exec.ts';
import { followLines } from './log.ts';
import { containerRun, lineCount } from './log-lines.ts';
import { serveSpdyForward, type ForwardTarget } from './port-forward.ts';
import { scriptedOutput } from './scripted-log.ts';

/** What all exec, attach and port-forward streams of one simulated API server share. */
export interface UpgradeOptions {
  readonly containers: Containers;
  readonly clock: Clock;
  /** Average time between two log lines, for attach, in milliseconds. */
  readonly logPeriodMs: number;
  /** Called when the command of a container to which a client was attached (`kubectl run -it`) has ended. */
  readonly onContainerExit?: (pod: KubeObject, container: string, exitCode: number) => void;
}

/**
 * The supported versions of the remotecommand protocol of exec and attach. kubectl speaks v4 over SPDY and v5 over
 * WebSocket; some other clients speak v4 over WebSocket.
 */
const v4 = 'v4.channel.k8s.io';
const v5 = 'v5.channel.k8s.io';
const forwardProtocol = 'portforward.k8s.io';
const tunnelPrefix = 'SPDY/3.1+';

/**
 * Negotiates the protocol of an upgrade and serves it. Only this function may use the socket from now on. Never throws.
 */
export function serveUpgrade(request: UpgradeRequest, options: UpgradeOptions): void {
  const { req, socket } = request;
  socket.on('error', () => socket.destroy());
  const token = (req.headers.upgrade ?? '').toLowerCase();
  if (token === 'websocket') serveWebSocket(request, options);
  else if (token === 'spdy/3.1') serveSpdy(request, options);
  else refuse(socket, 400, 'Bad Request', 'unable to upgrade: missing upgrade headers in request');
}

/**
 * All values of a header, with comma-separated lists split. They are read from rawHeaders, because in `headers` Node
 * joins or drops repeated headers.
 */
function listHeader(req: IncomingMessage, name: string): string[] {
  const values: string[] = [];
  for (let i = 0; i < req.rawHeaders.length; i += 2) {
    if (req.rawHeaders[i]?.toLowerCase() === name) values.push(...(req.rawHeaders[i + 1] ?? '').split(','));
  }
  return values.map((value) => value.trim()).filter((value) => value !== '');
}

function refuse(socket: Duplex, code: number, reason: string, text: string, headers: readonly string[] = []): void {
  const lines = [
    `HTTP/1.1 ${code} ${reason}`,
    ...headers,
    'Content-Type: text/plain; charset=utf-8',
    'X-Content-Type-Options: nosniff',
    `Content-Length: ${Buffer.byteLength(text) + 1}`,
    'Connection: close',
  ];
  socket.end(`${lines.join('\r\n')}\r\n\r\n${text}\n`);
}

function switchProtocols(socket: Duplex, token: string, headers: readonly string[]): void {
  const lines = ['HTTP/1.1 101 Switching Protocols', 'Connection: Upgrade', `Upgrade: ${token}`, ...headers];
  socket.write(`${lines.join('\r\n')}\r\n\r\n`);
}

function serveSpdy(request: UpgradeRequest, options: UpgradeOptions): void {
  const { kind, req, socket, head } = request;
  const offered = listHeader(req, 'x-stream-protocol-version');
  const accepted = [kind === 'portforward' ? forwardProtocol : v4];
  if (offered.length === 0) {
    refuse(socket, 400, 'Bad Request', 'unable to upgrade: header X-Stream-Protocol-Version does not exist in request');
    return;
  }
  const protocol = offered.find((name) => accepted.includes(name));
  if (protocol === undefined) {
    refuseVersion(socket, offered, accepted);
    return;
  }
  const wanted = wantedStreams(request.query);
  if (kind !== 'portforward' && !asksForSomething(wanted)) {
    refuse(socket, 400, 'Bad Request', 'you must specify at least 1 of stdin, stdout, stderr');
    return;
  }
  switchProtocols(socket, 'SPDY/3.1', [`X-Stream-Protocol-Version: ${protocol}`]);
  if (kind === 'portforward') {
    serveSpdyForward(socket, head, forwardTarget(request.pod));
    return;
  }
  openSpdyStreams(socket, head, wanted)
    .then((streams) => (streams === undefined ? undefined : serveCommand(request, streams, options)))
    .catch(() => socket.destroy());
}

function refuseVersion(socket: Duplex, offered: readonly string[], accepted: readonly string[]): void {
  const text =
    'unable to upgrade: unable to negotiate protocol: ' +
    `client supports [${offered.join(' ')}], server accepts [${accepted.join(' ')}]`;
  refuse(
    socket,
    403,
    'Forbidden',
    text,
    accepted.map((name) => `X-Accepted-Stream-Protocol-Versions: ${name}`),
  );
}

/** Longest message of a client; a longer one ends the connection. The limit is that of golang.org/x/net/websocket. */
const maxMessageBytes = 32 * 1024 * 1024;

function serveWebSocket(request: UpgradeRequest, options: UpgradeOptions): void {
  const { kind, req, socket, head } = request;
  const offered = listHeader(req, 'sec-websocket-protocol');
  // As in kube-apiserver, v5 is chosen whenever the client offers it.
  const supported = kind === 'portforward' ? [tunnelPrefix + forwardProtocol] : [v5, v4];
  const protocol = supported.find((name) => offered.includes(name));
  const wanted = wantedStreams(request.query);
  if (protocol === undefined) {
    refuse(socket, 403, 'Forbidden', `requested protocol(s) are not supported: [${offered.join(' ')}]`);
    return;
  }
  if (kind !== 'portforward' && !asksForSomething(wanted)) {
    refuse(socket, 400, 'Bad Request', 'you must specify at least 1 of stdin, stdout, stderr');
    return;
  }
  // The library `ws` refuses the protocol name of port-forward tunnels because of its slash, so the header is read and
  // written here.
  delete req.headers['sec-websocket-protocol'];
  const server = new WebSocketServer({ noServer: true, maxPayload: maxMessageBytes });
  server.once('headers', (headers) => headers.push(`Sec-WebSocket-Protocol: ${protocol}`));
  server.handleUpgrade(req, socket, head, (connection: WebSocket) => {
    if (kind === 'portforward') {
      serveSpdyForward(createWebSocketStream(connection), Buffer.alloc(0), forwardTarget(request.pod));
      return;
    }
    const streams = openChannels(connection, wanted, protocol === v5);
    serveCommand(request, streams, options).catch(() => socket.destroy());
  });
}

function wantedStreams(query: URLSearchParams): WantedStreams {
  const tty = isTrue(query.get('tty'));
  return {
    stdin: isTrue(query.get('stdin')),
    stdout: isTrue(query.get('stdout')),
    stderr: isTrue(query.get('stderr')) && !tty,
    tty,
  };
}

function asksForSomething(wanted: WantedStreams): boolean {
  return wanted.stdin || wanted.stdout || wanted.stderr;
}

function forwardTarget(pod: KubeObject): ForwardTarget {
  const spec = (pod['spec'] ?? {}) as JsonObject;
  const containers = [
    ...((spec['containers'] as JsonObject[]) ?? []),
    ...((spec['initContainers'] as JsonObject[]) ?? []),
  ];
  const ports = containers.flatMap((entry) => (entry['ports'] as JsonObject[] | undefined) ?? []);
  return {
    pod: `${pod.metadata.namespace ?? ''}/${pod.metadata.name}`,
    uid: pod.metadata.uid,
    ports: new Set(ports.map((port) => Number(port['containerPort']))),
  };
}

async function serveCommand(request: UpgradeRequest, streams: CommandStreams, options: UpgradeOptions): Promise<void> {
  const { pod, kind, query } = request;
  const container: Container | undefined = options.containers.open(pod, request.container);
  if (container === undefined) {
    await streams.finish({ kind: 'fault', message: `container not found (${JSON.stringify(request.container)})` });
    return;
  }
  if (kind === 'exec') {
    await runExec(streams, container, query.getAll('command'));
    return;
  }
  const run = containerRun(pod, container.name, false);
  const settings = { clock: options.clock, periodMs: options.logPeriodMs };
  const isScripted = kind === 'attach' && (await scriptedOutput(pod, container.name)) !== undefined;
  await runAttach(streams, container, {
    followLog: (write, gone) => {
      // The whole output of the command was written when the container started, so there are no new lines.
      if (isScripted || run === undefined || run.finishedAtMs !== undefined) return;
      const from = lineCount(run, options.clock.now(), options.logPeriodMs);
      const stop = followLines(run, from, settings, (line) => write(`${line.text}\n`));
      gone.addEventListener('abort', stop);
    },
    onExit: (code) => options.onContainerExit?.(pod, container.name, code),
  });
}
