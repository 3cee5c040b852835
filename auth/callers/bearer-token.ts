// Reads the bearer token of a request by kube-apiserver's rules (apiserver:pkg/authentication/request/bearertoken): a
// malformed header counts as no token, not as an error. Unlike in kube-apiserver, a request with two Authorization
// headers is refused.
import { GatewayError } from '../../model/errors.ts';
import { readOnce } from '../../http/repeated-headers.ts';
import { withoutEnds } from '../../lib/text/text-ends.ts';
import { headerValues } from '../../http/raw-headers.ts';

/** The content of the Authorization header. At most one of the two fields is set; without such a header neither is. */
export interface BearerHeader {
  /** The token, one latin1 character for each byte, never empty. It is a secret. */
  readonly token: string | undefined;
  /** Why a present header has no token; may be shown to the caller. */
  readonly hint: string | undefined;
}

/** Whether a character code is ASCII white space: tab, line feed, vertical tab, form feed, carriage return or space. */
const isWhiteSpace = (code: number): boolean => code === 0x20 || (code >= 0x09 && code <= 0x0d);

/**
 * Reads the token: white space around the value is removed, the value is split at single spaces, the scheme may be in
 * any case, words after the token are ignored.
 * @throws GatewayError BAD_HEADERS for more than one Authorization header
 */
export const readBearerToken = readOnce((rawHeaders): BearerHeader => {
  const values = headerValues(rawHeaders, 'authorization');
  if (values.length > 1) {
    throw new GatewayError('BAD_HEADERS', 'the request has more than one Authorization header; send exactly one');
  }
  // String.trim() would be wrong: the characters stand for bytes, and it would remove the byte 0xA0.
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
