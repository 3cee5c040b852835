// Opens plain sockets, over TCP or a path of the file system, for connections to members and to their proxies. Easy to
// get wrong: a socket without an error listener ends the process, so whoever opens one has it tracked first.
import { connect } from 'node:net';
import type { Socket } from 'node:net';

/** First TCP keepalive probe after this much silence. */
const keepAliveDelayMs = 30_000;
/**
 * With several addresses, how long each may take before the next is tried; Node's own 250 ms cuts off far-away
 * members.
 */
const addressAttemptTimeoutMs = 1_500;

/** Told of every socket of an attempt as soon as it exists, so that the deadline can destroy it. */
export type Track = (socket: Socket) => void;

/** @throws Error (rejects) of the operating system */
export async function openTcp(host: string, port: number, track: Track): Promise<Socket> {
  const socket = connect({
    host,
    port,
    noDelay: true,
    keepAlive: true,
    keepAliveInitialDelay: keepAliveDelayMs,
    autoSelectFamilyAttemptTimeout: addressAttemptTimeoutMs,
  });
  track(socket);
  await once(socket, 'connect');
  return socket;
}

/** @throws Error (rejects) of the operating system */
export async function openUnix(socketPath: string, track: Track): Promise<Socket> {
  const socket = connect({ path: socketPath });
  track(socket);
  await once(socket, 'connect');
  return socket;
}

/** Waits for the event; rejects on error, and on a close without one. */
export function once(socket: Socket, event: 'connect' | 'secureConnect'): Promise<void> {
  return new Promise((resolve, reject) => {
    const onClose = (): void => finish(Object.assign(new Error('closed early'), { code: 'ECONNRESET' }));
    const onReady = (): void => finish(undefined);
    const finish = (error: Error | undefined): void => {
      socket.off(event, onReady).off('error', finish).off('close', onClose).off('end', onClose);
      if (error === undefined) resolve();
      else reject(error);
    };
    socket.on(event, onReady).on('error', finish).on('close', onClose).on('end', onClose);
  });
}
