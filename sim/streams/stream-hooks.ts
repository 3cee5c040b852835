// The interface between the simulated API server and its handlers for exec, attach, port-forward and logs. The handlers
// are called when the request has been authenticated and authorized, and the pod was found. After serveUpgrade, only
// the handler may use the socket.
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { KubeObject } from '../types.ts';

/** An upgrade request that has passed all checks. */
export interface UpgradeRequest {
  readonly kind: 'exec' | 'attach' | 'portforward';
  readonly pod: KubeObject;
  /** The name of the container; '' for port-forward. */
  readonly container: string;
  readonly query: URLSearchParams;
  readonly req: IncomingMessage;
  readonly socket: Duplex;
  readonly head: Buffer;
}

/** A log request that has passed all checks. */
export interface LogRequest {
  readonly pod: KubeObject;
  readonly container: string;
  readonly query: URLSearchParams;
  /** Writes to the client. Returns false when the client is slow and the handler should wait. */
  write(chunk: string | Uint8Array): boolean;
  end(): void;
  /** The listener is called once, when the client has disconnected or the simulator closes. */
  onClose(listener: () => void): void;
}

/** The handlers for streams that a simulated API server calls. */
export interface StreamHooks {
  serveUpgrade(request: UpgradeRequest): void;
  serveLog(request: LogRequest): void;
}
