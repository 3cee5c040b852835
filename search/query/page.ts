// Which part of the rows is asked for: limit, offset or continue token. No limit means everything; a decimal `continue`
// is an offset (Clusterpedia's), and the answer continues in the kind that was asked.
import { isContinueToken } from './continue.ts';
import { goQuote } from './selectors/label-selector.ts';
import { bad, type Parameters } from './parameters.ts';
import { flagValue, oneValue, type SearchLabels } from './selectors/search-labels.ts';

/** Rows of a page at most; more are asked page by page. */
export const maxLimit = 5000;

/** The page that was asked for. */
export interface PageAsked {
  /** Undefined: all rows. At most {@link maxLimit}. */
  readonly limit: number | undefined;
  /** Rows to pass over, from a decimal `continue`. */
  readonly offset: number | undefined;
  /** An opaque token, not yet opened. */
  readonly continueToken: string | undefined;
  /** How the answer says where to go on: by a token, by `offset + rows`, or not at all (`withContinue=false`). */
  readonly continueStyle: 'opaque' | 'decimal' | 'none';
  readonly withRemaining: boolean;
}

/** @throws GatewayError BAD_REQUEST for a limit or continue that cannot be read */
export function readPage(
  parameters: Parameters,
  { search }: SearchLabels,
): { readonly asked: PageAsked; readonly warnings: readonly string[] } {
  const wanted = readInteger('limit', parameters.text('limit') ?? oneValue(search.get('limit')));
  const limit = wanted === undefined || wanted <= 0 ? undefined : Math.min(wanted, maxLimit);
  const warnings =
    wanted !== undefined && wanted > maxLimit
      ? [`limit ${wanted} is more than the server gives at once: ${maxLimit} rows a page`]
      : [];
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
