// Reads which page of the rows is requested, from `limit` and `continue`. Without a limit all rows are returned. A
// decimal `continue` is an offset, as in Clusterpedia; the `continue` of the answer is then an offset, too.
import { isContinueToken } from '../continue.ts';
import { goQuote } from '../selectors/label-selector.ts';
import { bad, type Parameters } from '../parameters.ts';
import { flagValue, oneValue, type SearchLabels } from '../selectors/search-labels.ts';

/** The largest page, in rows. A client that asks for more gets a warning and a page of this size. */
export const maxLimit = 5000;

/** The page of a list that the client requests. */
export interface PageAsked {
  /** The most rows on the page, at most {@link maxLimit}; undefined for all rows. */
  readonly limit: number | undefined;
  /** The number of rows to skip when `continue` is a decimal number; otherwise undefined. */
  readonly offset: number | undefined;
  /** The `continue` token of an earlier page, still encrypted. */
  readonly continueToken: string | undefined;
  /**
   * What the answer's `continue` contains: an encrypted token (`opaque`), the offset of the next row (`decimal`), or
   * nothing (`none`, for `withContinue=false`).
   */
  readonly continueStyle: 'opaque' | 'decimal' | 'none';
  readonly withRemaining: boolean;
}

/**
 * Reads which page of a list the client requests.
 * @throws GatewayError BAD_REQUEST when `limit` is not a whole number, or `continue` neither a token nor an offset
 */
export function readPage(
  parameters: Parameters,
  { search }: SearchLabels,
): { readonly asked: PageAsked; readonly warnings: readonly string[] } {
  const wanted = readInteger('limit', parameters.text('limit') ?? oneValue(search.get('limit')));
  const limit = wanted === undefined || wanted <= 0 ? undefined : Math.min(wanted, maxLimit);
  const warnings =
    wanted !== undefined && wanted > maxLimit ? [`limit ${wanted} is too high; a page has ${maxLimit} rows`] : [];
  const position = readContinue(parameters.text('continue'), oneValue(search.get('continue')));
  const withContinue = parameters.flag('withContinue') ?? flagValue(search.get('withContinue'));
  const isDecimal = position.offset !== undefined || (withContinue === true && position.continueToken === undefined);
  return {
    asked: {
      limit,
      ...position,
      continueStyle: withContinue === false ? 'none' : isDecimal ? 'decimal' : 'opaque',
      withRemaining: parameters.flag('withRemainingCount') ?? flagValue(search.get('withRemainingCount')) ?? false,
    },
    warnings,
  };
}

function readContinue(
  text: string | undefined,
  label: string | undefined,
): Pick<PageAsked, 'offset' | 'continueToken'> {
  const given = text ?? label;
  if (given === undefined) return { offset: undefined, continueToken: undefined };
  if (isContinueToken(given)) return { offset: undefined, continueToken: given };
  if (!/^\+?\d{1,15}$/.test(given))
    throw bad(`continue ${shown(given)} is neither a token of this server nor an offset of 0 or more`);
  return { offset: Number(given), continueToken: undefined };
}

function readInteger(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^[+-]?\d{1,19}$/.test(text)) throw bad(`${name} ${shown(text)} is not a whole number`);
  return Number(text);
}

function shown(text: string): string {
  return goQuote(text.length > 60 ? `${text.slice(0, 60)}…` : text);
}
