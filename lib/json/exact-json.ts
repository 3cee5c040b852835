// Parses JSON without rounding large integers. A reviver that reads the source text takes several times as long as a
// plain parse, so it is used only for text that has a long number.

/** An integer that a JavaScript number cannot hold exactly. JSON.stringify prints its original digits. */
export interface ExactInteger {
  readonly rawJSON: string;
}

/** JSON.rawJSON and JSON.isRawJSON (ECMAScript 2026), which TypeScript's library does not declare yet. */
const { rawJSON, isRawJSON } = JSON as typeof JSON & {
  readonly rawJSON: (text: string) => ExactInteger;
  readonly isRawJSON: (value: unknown) => value is ExactInteger;
};

export { rawJSON as exactInteger, isRawJSON as isExactInteger };

const manyDigits = /\d{16}/;
const integer = /^-?\d+$/;

/**
 * Works as JSON.parse, but returns integers beyond 2^53 as {@link ExactInteger}.
 * @throws SyntaxError when the text is not JSON
 */
export function parseExact(raw: Uint8Array): unknown {
  const text = Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength).toString('utf8');
  if (!manyDigits.test(text)) return JSON.parse(text) as unknown;
  const exact = (_key: string, value: unknown, context: { readonly source?: string }): unknown => {
    const isRounded = typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value);
    return isRounded && integer.test(context.source ?? '') ? rawJSON(context.source!) : value;
  };
  return JSON.parse(text, exact as (key: string, value: unknown) => unknown) as unknown;
}
