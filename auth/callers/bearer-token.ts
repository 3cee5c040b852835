// Finds the bearer token of a request by kube-apiserver's rules (apiserver:pkg/authentication/request/bearertoken). Two
// Authorization headers are refused; a malformed one is "no opinion" and not an error.
import { GatewayError } from '../../cache/model/errors.ts';
import { readOnce } from '../../http/repeated-headers.ts';
import { withoutEnds } from '../../lib/text/text-ends.ts';
import { headerValues } from './header-values.ts';

/**
 * What the Authorization header says. At most one of the two is set; both are undefined when there is no such header.
 */
export interface BearerHeader {
  /** The token as latin1 bytes, never empty. A secret. */
  readonly token: string | undefined;
  /** Why a header that is there holds no token; safe to show to the caller. */
  readonly hint: string | undefined;
}

/** Tab, line feed, vertical tab, form feed, carriage return, blank. */
const isWhiteSpace = (code: number): boolean => code === 0x20 || (code >= 0x09 && code <= 0x0d);

/**
 * Reads the token: outer white space trimmed, split at single spaces, scheme without regard to case, words after the
 * token ignored.
 * @throws GatewayError BAD_HEADERS when there is more than one Authorization header
 */
export const readBearerToken = readOnce((rawHeaders): BearerHeader => {
  const values = headerValues(rawHeaders, 'authorization');
  if (values.length > 1) {
    throw new GatewayError('BAD_HEADERS', 'the request has more than one Authorization header; send exactly one');
  }
  // Only ASCII white space: the value is bytes, and String.trim() would remove the byte 0xA0.
  const header = withoutEnds(values[0] ?? '', isWhiteSpace);
  if (header === '') return { token: undefined, hint: undefined };
  const [scheme = '', token = '', ...rest] = header.split(' ', 3);
  if (scheme.toLowerCase() !== 'bearer') {
    return { token: undefined, hint: 'the Authorization header is not of the form "Bearer <token>"' };
  }
  if (token !== '') return { token, hint: undefined };
  const extraSpace = rest.length > 0;
  return {
    token: undefined,
    hint: extraSpace ? 'there is extra space before the bearer token' : 'the bearer token is empty',
  };
});
