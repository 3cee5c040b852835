// The tables HPACK refers to: 61 fixed names and values, and those of one connection and direction (RFC 7541 section
// 2.3 and appendix A). An entry larger than the table empties it and is no error; sizes count 32 bytes more than the
// text.

/** Largest dynamic table on either side; what RFC 9113 starts with, and it bounds what a client can make us keep. */
export const maxTableBytes = 4096;
/** What each field counts beyond its text. */
export const fieldOverheadBytes = 32;
/** A power of two that holds every entry of a table of {@link maxTableBytes}. */
const ringSize = maxTableBytes / fieldOverheadBytes;

/** Names and values of appendix A, flat; index 1 is at 0. */
export const staticFields: readonly string[] = [
  ...[':authority', '', ':method', 'GET', ':method', 'POST', ':path', '/', ':path', '/index.html', ':scheme', 'http'],
  ...[':scheme', 'https', ':status', '200', ':status', '204', ':status', '206', ':status', '304', ':status', '400'],
  ...[':status', '404', ':status', '500', 'accept-charset', '', 'accept-encoding', 'gzip, deflate'],
  ...['accept-language', '', 'accept-ranges', '', 'accept', '', 'access-control-allow-origin', '', 'age', ''],
  ...['allow', '', 'authorization', '', 'cache-control', '', 'content-disposition', '', 'content-encoding', ''],
  ...['content-language', '', 'content-length', '', 'content-location', '', 'content-range', '', 'content-type', ''],
  ...['cookie', '', 'date', '', 'etag', '', 'expect', '', 'expires', '', 'from', '', 'host', '', 'if-match', ''],
  ...['if-modified-since', '', 'if-none-match', '', 'if-range', '', 'if-unmodified-since', '', 'last-modified', ''],
  ...['link', '', 'location', '', 'max-forwards', '', 'proxy-authenticate', '', 'proxy-authorization', '', 'range', ''],
  ...['referer', '', 'refresh', '', 'retry-after', '', 'server', '', 'set-cookie', '', 'strict-transport-security', ''],
  ...['transfer-encoding', '', 'user-agent', '', 'vary', '', 'via', '', 'www-authenticate', ''],
];
export const staticCount = staticFields.length / 2;

/** The entries one side has added, newest first. */
export class DynamicTable {
  /** Entries ever added; the newest has this number. */
  added = 0;
  /** Entries there now. */
  count = 0;
  #bytes = 0;
  #limit = maxTableBytes;
  readonly #names: string[] = [];
  readonly #values: string[] = [];

  /** Bytes the table may hold. */
  get limit(): number {
    return this.#limit;
  }

  /** @param bytes at most {@link maxTableBytes} */
  setLimit(bytes: number): void {
    this.#limit = bytes;
    this.#evict();
  }

  /** Name of the entry `distance` behind the newest; it must exist. */
  name(distance: number): string {
    return this.#names[(this.added - distance) & (ringSize - 1)]!;
  }

  value(distance: number): string {
    return this.#values[(this.added - distance) & (ringSize - 1)]!;
  }

  add(name: string, value: string): void {
    const bytes = name.length + value.length + fieldOverheadBytes;
    if (bytes > this.#limit) {
      this.clear();
      return;
    }
    this.#bytes += bytes;
    this.#evict();
    this.added++;
    this.count++;
    this.#names[this.added & (ringSize - 1)] = name;
    this.#values[this.added & (ringSize - 1)] = value;
  }

  clear(): void {
    this.count = 0;
    this.#bytes = 0;
    this.#names.length = 0;
    this.#values.length = 0;
  }

  #evict(): void {
    while (this.#bytes > this.#limit && this.count > 0) {
      const at = (this.added - this.count + 1) & (ringSize - 1);
      this.#bytes -= this.#names[at]!.length + this.#values[at]!.length + fieldOverheadBytes;
      this.count--;
    }
  }
}
