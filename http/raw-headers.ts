// The form in which headers are passed around in the whole program.

/**
 * Flat list `[name, value, name, value, …]`; a value has one latin1 character for each byte received. An object would
 * join repeated headers, and a joined `Impersonate-Group` would be another identity.
 */
export type RawHeaders = readonly string[];
