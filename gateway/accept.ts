// Content negotiation for our own answers, as much as Kubernetes clients use: JSON, and JSON as Table, PartialObjectMetadata or aggregated
// discovery. Easy to get wrong: protobuf-only clients must get 406, so that they fall back, not JSON they cannot read.
import { GatewayError } from '../cache/errors.ts';
import type { RawHeaders } from '../routing/transport-types.ts';
import { headerValues } from '../routing/headers.ts';

/** The form asked for: `as` is the kind of the transformation, '' for the plain object. */
export interface AcceptedForm {
  readonly as: '' | 'Table' | 'PartialObjectMetadata' | 'PartialObjectMetadataList' | 'APIGroupDiscoveryList';
}

/**
 * Chooses the first form the client lists that we can give.
 * @throws GatewayError NOT_ACCEPTABLE when there is none
 */
export function acceptedForm(headers: RawHeaders, forms: readonly AcceptedForm['as'][]): AcceptedForm {
  const items = headerValues(headers, 'accept').flatMap((value) => value.split(','));
  if (items.every((item) => item.trim() === '')) return { as: '' };
  for (const item of items) {
    const [mediaType = '', ...parameters] = item.split(';').map((part) => part.trim());
    if (!['application/json', 'application/*', '*/*'].includes(mediaType.toLowerCase())) continue;
    const values = new Map(
      parameters.map((parameter) => [parameter.split('=')[0]!.toLowerCase(), parameter.split('=')[1] ?? '']),
    );
    const as = (values.get('as') ?? '') as AcceptedForm['as'];
    if (!forms.includes(as)) continue;
    if (as === 'APIGroupDiscoveryList' && values.get('v') !== 'v2') continue;
    if ((as === 'Table' || as.startsWith('Partial')) && values.get('v') !== 'v1') continue;
    return { as };
  }
  throw new GatewayError('NOT_ACCEPTABLE', 'only application/json is served here');
}
