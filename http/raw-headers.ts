// The one form in which headers travel through the program.

/**
 * Flat list `[name, value, name, value, …]`; values are latin1 strings whose character codes are the bytes on the wire.
 * An object would join repeated headers, and a joined `Impersonate-Group` is another identity.
 */
export type RawHeaders = readonly string[];
