// Parses JSON without rounding whole numbers. A reviver with access to the source costs several times a plain parse, so
// it runs only where a number may be too long.

/** An integer that a JavaScript number would round; JSON.stringify prints its digits. */
export interface ExactInteger {
  readonly rawJSON: string;
}

/** JSON.rawJSON (ECMA-262 2026), which TypeScript's library does not declare. */
const { rawJSON, isRawJSON } = JSON as typeof JSON & {
  readonly rawJSON: (text: string) => ExactInteger;
  readonly isRawJSON: (value: unknown) => value is ExactInteger;
};

export { rawJSON as exactInteger, isRawJSON as isExactInteger };

const manyDigits = /\d{16}/;
const integer = /^-?\d+$/;

/** As JSON.parse, but whole numbers beyond 2^53 keep their digits. @throws SyntaxError */
export function parseExact(raw: Uint8Array): unknown {
  const text = Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength).toString('utf8');
  if (!manyDigits.test(text)) return JSON.parse(text) as unknown;
  const exact = (_key: string, value: unknown, context: { readonly source?: string }): unknown => {
    const isRounded = typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value);
    return isRounded && integer.test(context.source ?? '') ? rawJSON(context.source!) : value;
  };
  return JSON.parse(text, exact as (key: string, value: unknown) => unknown) as unknown;
}
