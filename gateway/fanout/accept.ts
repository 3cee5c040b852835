// Chooses the headers for the members. They are asked for JSON only, because answers are joined as JSON; a client that
// takes only protobuf gets 406.
import { GatewayError } from '../../cache/model/errors.ts';
import type { RawHeaders } from '../../http/raw-headers.ts';
import { acceptedRanges } from '../api/accept.ts';

/**
 * `Accept` for the members: the client's JSON forms in its order.
 * @throws GatewayError NOT_ACCEPTABLE
 */
export function memberAccept(headers: RawHeaders): string {
  const ranges = acceptedRanges(headers);
  if (ranges.length === 0) return json;
  const forms = ranges
    .filter(({ mediaType }) => mediaType === json || mediaType === 'application/*' || mediaType === '*/*')
    .map(({ parameters }) => {
      const kept = ['as', 'v', 'g'].flatMap((name) => {
        const value = parameters.get(name);
        return value !== undefined && /^[A-Za-z0-9.]{1,64}$/.test(value) ? [`;${name}=${value}`] : [];
      });
      return json + kept.join('');
    });
  if (forms.length > 0) return [...new Set(forms)].join(',');
  throw new GatewayError(
    'NOT_ACCEPTABLE',
    'answers of several clusters are joined as application/json: accept that, or ask one cluster',
  );
}

const json = 'application/json';

/** Headers that members do not get: we choose the form, and no part may come compressed or as "not modified". */
const ownHeaders =
  /^(?:accept|accept-encoding|content-.*|if-.*|range|origin|last-event-id|cache-control|pragma|x-requested-with)$/i;

/** The caller's headers as they go to each member, with `Content-Type` when there is a body. */
export function memberHeaders(headers: RawHeaders, accept: string, withBody = false): string[] {
  const kept = ['Accept', accept];
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i]!;
    if (!ownHeaders.test(name) || (withBody && /^content-type$/i.test(name))) kept.push(name, headers[i + 1]!);
  }
  return kept;
}
