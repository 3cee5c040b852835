// Turns the system's error about a listen address into a message that says which flag to change.
import { formatHostPort } from '../../lib/text/host-port.ts';
import type { HostPort } from '../../lib/text/host-port.ts';

/** Thrown when a listen address cannot be used. The process then exits with status 1. */
export class AddressError extends Error {
  readonly exitCode = 1;

  constructor(message: string, cause: unknown) {
    super(message, { cause });
    this.name = 'AddressError';
  }
}

/** Makes a handler for `.catch()` after a listen call. The handler throws an AddressError that names the flag. */
export function addressFault(flag: string, at: HostPort): (error: NodeJS.ErrnoException) => never {
  return (error) => {
    const where = formatHostPort(at);
    const reason =
      error.code === 'EADDRINUSE'
        ? `${where} is already in use: stop the other process, or choose another address with ${flag} HOST:PORT`
        : `cannot listen on ${where} (${error.code ?? error.message}): choose another address with ${flag} HOST:PORT`;
    throw new AddressError(reason, error);
  };
}
