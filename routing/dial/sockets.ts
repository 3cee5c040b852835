// Opens plain sockets, over TCP or a path of the file system, for connections to members and to their proxies. A socket
// without an error listener would end the process, so each is tracked before anything else; and where addresses are
// judged, the same addresses are then connected to.
import dns from 'node:dns';
import { connect, isIP } from 'node:net';
import type { LookupFunction, Socket } from 'node:net';
import type { AddressRule } from '../../cache/model/address-rule.ts';

/** First TCP keepalive probe after this much silence. */
const keepAliveDelayMs = 30_000;
/**
 * With several addresses, how long each may take before the next is tried; Node's own 250 ms cuts off far-away
 * members.
 */
const addressAttemptTimeoutMs = 1_500;

/** Called with every socket of an attempt as soon as it exists, so that the deadline can destroy it. */
export type Track = (socket: Socket) => void;

/** `code` of the error for an address that must not be connected to. */
export const addressRefused = 'ERR_ADDRESS_REFUSED';

/** @throws Error (rejects) of the operating system, or with code {@link addressRefused} before anything was sent */
export async function openTcp(host: string, port: number, track: Track, rule?: AddressRule): Promise<Socket> {
  if (rule !== undefined && isIP(host) !== 0 && rule.refuses(host)) throw refusal();
  const socket = connect({
    host,
    port,
    ...(rule === undefined ? {} : { lookup: judgedLookup(rule) }),
    noDelay: true,
    keepAlive: true,
    keepAliveInitialDelay: keepAliveDelayMs,
    autoSelectFamilyAttemptTimeout: addressAttemptTimeoutMs,
  });
  track(socket);
  await once(socket, 'connect');
  return socket;
}

/**
 * Resolves as Node does, and gives no address when one of them is refused: a name that can be either is not to be
 * trusted.
 */
function judgedLookup(rule: AddressRule): LookupFunction {
  return (host, options, callback) => {
    dns.lookup(host, { ...options, all: true }, (error, addresses) => {
      if (error !== null) callback(error, []);
      else if (addresses.some(({ address }) => rule.refuses(address))) callback(refusal(), []);
      else if (options.all === true) callback(null, addresses);
      else callback(null, addresses[0]!.address, addresses[0]!.family);
    });
  };
}

function refusal(): Error {
  return Object.assign(new Error('the address is refused'), { code: addressRefused });
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
