// Turns the system's answer to "listen there" into one a person can act on: which flag, and what else to try.
import { formatHostPort } from '../../lib/text/host-port.ts';
import type { HostPort } from '../../lib/text/host-port.ts';

/** An address that cannot be had; the process exits with 1. */
export class AddressError extends Error {
  readonly exitCode = 1;

  constructor(message: string, cause: unknown) {
    super(message, { cause });
    this.name = 'AddressError';
  }
}

/** For `.catch()` behind a listen call. @throws AddressError naming the flag */
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
