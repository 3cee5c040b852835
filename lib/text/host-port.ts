// `HOST:PORT` of flags and configuration. Easy to get wrong: an IPv6 address needs brackets, and a bare port or host is
// refused rather than guessed, since guessing could listen on every interface.

/** Where to listen. Port 0 lets the system choose. */
export interface HostPort {
  /** Without brackets. */
  readonly host: string;
  readonly port: number;
}

/** Parses `127.0.0.1:8443`, `[::1]:8443`, `localhost:0`; undefined when it is none of these. */
export function parseHostPort(text: string): HostPort | undefined {
  const match = /^(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9._-]+)):(\d{1,5})$/.exec(text);
  const port = Number(match?.[3]);
  if (match === null || port > 65_535) return undefined;
  return { host: match[1] ?? match[2]!, port };
}

/** Whether only this machine can reach the address. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(?:\.\d{1,3}){3}$/.test(host);
}

/** `HOST:PORT` for URLs. */
export function formatHostPort({ host, port }: HostPort): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}
