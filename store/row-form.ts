// The number of the form in which this program writes rows. The form is which fields a row keeps, and which values it
// makes searchable. During an upgrade, programs of two forms share a store, and only the number decides which program
// may write which rows. So a newer form must have a higher number, and the program before must be able to read it: a
// path may leave the index only one release after the last program that searches by it.

/**
 * To be increased when `document.ts` stores objects differently, or when the indexed paths change. Rows of an older
 * form are then written again.
 */
export const rowForm: number = 1;
