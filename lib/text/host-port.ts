// Parses `HOST:PORT` in flags and configuration. An IPv6 address must be in brackets. A port or host alone is refused,
// because completing it could make the process listen on all interfaces.

/** An address to listen on. With port 0 the system chooses a free port. */
export interface HostPort {
  /** Host name or address; an IPv6 address without brackets. */
  readonly host: string;
  readonly port: number;
}

/** Parses `127.0.0.1:8443`, `[::1]:8443` or `localhost:0`; undefined when the text has another form. */
export function parseHostPort(text: string): HostPort | undefined {
  const match = /^(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9._-]+)):(\d{1,5})$/.exec(text);
  const port = Number(match?.[3]);
  if (match === null || port > 65_535) return undefined;
  return { host: match[1] ?? match[2]!, port };
}

/** Whether the host is a loopback address, which only this machine can reach. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(?:\.\d{1,3}){3}$/.test(host);
}

/** Formats `HOST:PORT` for URLs, with brackets around an IPv6 address. */
export function formatHostPort({ host, port }: HostPort): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}
