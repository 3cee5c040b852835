// Makes the headers that each cluster gets when a client sends one request to many clusters. `Accept` names JSON only,
// because the clusters' answers are joined as JSON. A client that accepts only protobuf gets 406.
import { GatewayError } from '../../../model/errors.ts';
import type { RawHeaders } from '../../../http/raw-headers.ts';
import { acceptedRanges } from '../../../request/answer/accept.ts';

/**
 * The `Accept` header for the clusters: the JSON forms that the client accepts, in the client's order.
 * @throws GatewayError NOT_ACCEPTABLE when the client accepts no JSON
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
    'answers of several clusters are joined as JSON: send "Accept: application/json", or ask one cluster',
  );
}

const json = 'application/json';

/**
 * Headers of the client that are not sent to clusters: the gateway itself chooses the media type of the clusters'
 * answers, and it can join neither compressed answers nor a 304.
 */
const ownHeaders =
  /^(?:accept|accept-encoding|content-.*|if-.*|range|origin|last-event-id|cache-control|pragma|x-requested-with)$/i;

/** The caller's headers as they are sent to each cluster. `Content-Type` is kept only when there is a body. */
export function memberHeaders(headers: RawHeaders, accept: string, withBody = false): string[] {
  const kept = ['Accept', accept];
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i]!;
    if (!ownHeaders.test(name) || (withBody && /^content-type$/i.test(name))) kept.push(name, headers[i + 1]!);
  }
  return kept;
}
