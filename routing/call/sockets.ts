// Opens TCP and Unix sockets to members and their proxies. Easy to get wrong: an error on a socket without an error
// listener crashes the process, so each socket is passed to `track` at once. And the address that is checked must come
// from the DNS lookup that the connection uses, since a second lookup could return another address.
import dns from 'node:dns';
import { connect, isIP } from 'node:net';
import type { LookupFunction, Socket } from 'node:net';
import type { AddressRule } from '../../model/address-rule.ts';

/** Milliseconds without traffic before the first TCP keepalive probe is sent. */
const keepAliveDelayMs = 30_000;
/**
 * When a name has several addresses, the next one is tried after this many milliseconds. Node's default of 250 ms is
 * too short for distant members.
 */
const addressAttemptTimeoutMs = 1_500;

/**
 * Called with every socket of a connection attempt as soon as the socket exists. It adds an error listener, and can
 * destroy the socket when the time for the attempt is over.
 */
export type Track = (socket: Socket) => void;

/** `code` of the error that is thrown for an address that the gateway must not connect to. */
export const addressRefused = 'ERR_ADDRESS_REFUSED';

/**
 * Opens a TCP connection.
 * @throws Error (rejects) of the operating system, or with code {@link addressRefused} before anything was sent
 */
export async function openTcp(host: string, port: number, track: Track, rule?: AddressRule): Promise<Socket> {
  if (rule !== undefined && isIP(host) !== 0 && rule.refuses(host)) throw refusal();
  const socket = connect({
    host,
    port,
    ...(rule === undefined ? {} : { lookup: checkedLookup(rule) }),
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
 * A DNS lookup that fails if the rule refuses any address of the name. Using only the allowed addresses would be
 * unsafe: a name with a forbidden address is not to be trusted.
 */
function checkedLookup(rule: AddressRule): LookupFunction {
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

/**
 * Connects to a Unix socket.
 * @throws Error (rejects) of the operating system
 */
export async function openUnix(socketPath: string, track: Track): Promise<Socket> {
  const socket = connect({ path: socketPath });
  track(socket);
  await once(socket, 'connect');
  return socket;
}

/** Resolves when the socket emits `event`; rejects when it fails or closes first. */
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
