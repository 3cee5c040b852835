// The interface between the simulated API server and its handlers for exec, attach, port-forward and logs. The handlers
// are called for authenticated and authorized requests whose pod exists. After the call of serveUpgrade, only the
// handler may use the socket.
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { KubeObject } from '../model/types.ts';

/** A request for exec, attach or port-forward that was authorized, and whose pod and container exist. */
export interface UpgradeRequest {
  readonly kind: 'exec' | 'attach' | 'portforward';
  readonly pod: KubeObject;
  /** The name of the container; '' for port-forward. */
  readonly container: string;
  readonly query: URLSearchParams;
  readonly req: IncomingMessage;
  readonly socket: Duplex;
  /** Bytes after the request that were read together with it. */
  readonly head: Buffer;
}

/** A request for the log of a container that was authorized, and whose pod and container exist. */
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

/** The handlers of a simulated API server for exec, attach, port-forward and logs. */
export interface StreamHooks {
  serveUpgrade(request: UpgradeRequest): void;
  serveLog(request: LogRequest): void;
}
