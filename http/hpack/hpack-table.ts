// The two tables of HPACK: 61 fixed fields, and a dynamic table for each connection and direction (RFC 7541 section 2.3
// and appendix A). An entry counts the bytes of its text plus 32. Adding an entry larger than the whole table empties
// the table and is no error.

/**
 * Largest size of a dynamic table in bytes, for each direction. It is the initial value of SETTINGS_HEADER_TABLE_SIZE
 * in HTTP/2, and bounds the memory that a client can use.
 */
export const maxTableBytes = 4096;
/** Bytes that a field counts in addition to its name and value (RFC 7541 section 4.1). */
export const fieldOverheadBytes = 32;
/**
 * Maximum number of entries that a table of {@link maxTableBytes} can have. Must be a power of two, because it is used
 * as a bit mask.
 */
const ringSize = maxTableBytes / fieldOverheadBytes;

/** Names and values of appendix A in a flat list; the field with HPACK index 1 is at positions 0 and 1. */
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

/** The dynamic table of one direction of a connection. Entries are addressed from the newest backwards. */
export class DynamicTable {
  /** How many entries were ever added; also the number of the newest entry. */
  added = 0;
  /** How many entries are in the table now. */
  count = 0;
  #bytes = 0;
  #limit = maxTableBytes;
  readonly #names: string[] = [];
  readonly #values: string[] = [];

  /** Largest size of the table in bytes. */
  get limit(): number {
    return this.#limit;
  }

  /**
   * Sets the largest size and drops the oldest entries beyond it.
   * @param bytes at most {@link maxTableBytes}
   */
  setLimit(bytes: number): void {
    this.#limit = bytes;
    this.#evict();
  }

  /** Name of the entry that was added `distance` entries before the newest. The entry must exist. */
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
