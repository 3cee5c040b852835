// The border between the API half of the simulator and its streams (streams/*): what exec, attach, port-forward and
// logs are handed once the request is authenticated, authorized and the pod is found. After serveUpgrade the socket
// belongs to the streams.
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { KubeObject } from '../types.ts';

/** An upgrade that may go ahead. */
export interface UpgradeRequest {
  readonly kind: 'exec' | 'attach' | 'portforward';
  readonly pod: KubeObject;
  /** Resolved container name; '' for port-forward. */
  readonly container: string;
  readonly query: URLSearchParams;
  readonly req: IncomingMessage;
  readonly socket: Duplex;
  readonly head: Buffer;
}

/** A log request that may go ahead; the 200 head is sent with the first write or end. */
export interface LogRequest {
  readonly pod: KubeObject;
  readonly container: string;
  readonly query: URLSearchParams;
  /** False when the client is behind: wait before writing more. */
  write(chunk: string | Uint8Array): boolean;
  end(): void;
  /** Called once when the client went away or the simulator closes. */
  onClose(listener: () => void): void;
}

/** What serves them. */
export interface StreamHooks {
  serveUpgrade(request: UpgradeRequest): void;
  serveLog(request: LogRequest): void;
}
