// Flow control for the request bodies on all streams of one connection together (RFC 9113 section 6.9). One upload that
// nobody reads does not block other uploads of its connection; many such uploads together do.

/** Bytes of bodies that a client may send on all streams before it must wait for a WINDOW_UPDATE. */
export const connectionWindowBytes = 1024 * 1024;
/** While more bytes than this are unread on all streams together, the window is not widened. */
const maxHeldBytes = 4 * 1024 * 1024;

/** Counts how many bytes of request bodies a client may still send on one connection. */
export class ReceiveWindow {
  /** Bytes of bodies received on all streams and not read yet. */
  heldBytes = 0;
  readonly #widen: (bytes: number) => void;
  #left = connectionWindowBytes;
  #unreported = 0;

  /**
   * Makes the window of one connection.
   * @param widen sends a WINDOW_UPDATE: the client may send this many bytes more
   */
  constructor(widen: (bytes: number) => void) {
    this.#widen = widen;
  }

  /** Counts a DATA frame. False when the client has sent more than its window allows. */
  take(bytes: number): boolean {
    this.#left -= bytes;
    if (this.#left < 0) return false;
    this.#unreported += bytes;
    this.#report();
    return true;
  }

  /** Counts a change of the unread bytes; negative when some were read or dropped. */
  held(bytes: number): void {
    this.heldBytes += bytes;
    if (bytes < 0) this.#report();
  }

  #report(): void {
    if (this.#unreported < connectionWindowBytes / 2 || this.heldBytes > maxHeldBytes) return;
    this.#widen(this.#unreported);
    this.#left += this.#unreported;
    this.#unreported = 0;
  }
}
