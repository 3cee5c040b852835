// Chooses the form of our own answers by the Accept header, as far as Kubernetes clients use it: JSON, and JSON as
// Table, PartialObjectMetadata or aggregated discovery. A client that takes only protobuf gets 406, so that it falls
// back to JSON.
import { GatewayError } from '../../cache/model/errors.ts';
import type { RawHeaders } from '../../http/raw-headers.ts';
import { headerValues } from '../../routing/forward/headers.ts';

/** The form of an answer: `as` is the kind of the transformation, '' for the plain object. */
export interface AcceptedForm {
  readonly as: '' | 'Table' | 'PartialObjectMetadata' | 'PartialObjectMetadataList' | 'APIGroupDiscoveryList';
  /** Version of the transformation's group, '' for the plain object. */
  readonly version: string;
}

const plain: AcceptedForm = { as: '', version: '' };
/** Versions we can give of each transformation. */
const versions: Readonly<Record<AcceptedForm['as'], readonly string[]>> = {
  '': [],
  Table: ['v1'],
  PartialObjectMetadata: ['v1'],
  PartialObjectMetadataList: ['v1'],
  APIGroupDiscoveryList: ['v2', 'v2beta1'],
};

/**
 * Chooses the client's preferred form among those we can give.
 * @throws GatewayError NOT_ACCEPTABLE when there is none
 */
export function acceptedForm(headers: RawHeaders, forms: readonly AcceptedForm['as'][]): AcceptedForm {
  const ranges = acceptedRanges(headers);
  if (ranges.length === 0) return plain;
  for (const { mediaType, parameters } of ranges) {
    if (!jsonRanges.has(mediaType)) continue;
    const as = (parameters.get('as') ?? '') as AcceptedForm['as'];
    if (!forms.includes(as)) continue;
    if (as === '') return plain;
    const version = parameters.get('v') ?? '';
    if (versions[as].includes(version)) return { as, version };
  }
  throw new GatewayError('NOT_ACCEPTABLE', 'only the following media types will be accepted: application/json');
}

const jsonRanges: ReadonlySet<string> = new Set(['application/json', 'application/*', '*/*']);

/** One element of an Accept header. */
export interface MediaRange {
  /** Lower case, without parameters. */
  readonly mediaType: string;
  readonly parameters: ReadonlyMap<string, string>;
}

/** Elements of all Accept headers, the preferred first (RFC 9110 section 12.5.1); those with q=0 are left out. */
export function acceptedRanges(headers: RawHeaders): readonly MediaRange[] {
  return headerValues(headers, 'accept')
    .flatMap((value) => value.split(','))
    .filter((item) => item.trim() !== '')
    .map((item) => {
      const [mediaType = '', ...rest] = item.split(';').map((part) => part.trim());
      const parameters = new Map(rest.map((part) => [part.split('=')[0]!.toLowerCase(), part.split('=')[1] ?? '']));
      return { mediaType: mediaType.toLowerCase(), parameters, quality: Number(parameters.get('q') ?? 1) };
    })
    .filter(({ quality }) => !(quality <= 0))
    .toSorted((a, b) => b.quality - a.quality);
}
