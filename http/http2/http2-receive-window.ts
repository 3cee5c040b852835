// How many bytes of body a client may send on all streams of one connection (RFC 9113 section 6.9). One upload that
// nobody reads does not hold up the others of its connection; many of them together do.

/** Bytes of bodies a client may send on all streams before the window is widened. */
export const connectionWindowBytes = 1024 * 1024;
/** Unread bodies of all streams: above this the window is widened only as they are read. */
const maxHeldBytes = 4 * 1024 * 1024;

/** The window of one connection. */
export class ReceiveWindow {
  /** Bytes of bodies that have not been read yet. */
  heldBytes = 0;
  readonly #widen: (bytes: number) => void;
  #left = connectionWindowBytes;
  #unreported = 0;

  /** @param widen tells the client that it may send so many more */
  constructor(widen: (bytes: number) => void) {
    this.#widen = widen;
  }

  /** A DATA frame came. False when it is more than the client may send. */
  take(bytes: number): boolean {
    this.#left -= bytes;
    if (this.#left < 0) return false;
    this.#unreported += bytes;
    this.#report();
    return true;
  }

  /** So many more bytes wait for a reader, or fewer. */
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
