// Chooses the form of an answer that the gateway makes itself, by the request's Accept header. The gateway can write
// the forms that Kubernetes clients ask for: plain JSON, and JSON as Table, PartialObjectMetadata or aggregated
// discovery. A client that accepts only protobuf gets 406; Kubernetes clients then ask again for JSON.
import { GatewayError } from '../../model/errors.ts';
import type { RawHeaders } from '../../http/raw-headers.ts';
import { headerValues } from '../../http/raw-headers.ts';

/**
 * The form in which the client wants an answer. `as` is the kind that the client wants instead of the object itself, as
 * in `Accept: application/json;as=Table`; '' means the object itself.
 */
export interface AcceptedForm {
  readonly as: '' | 'Table' | 'PartialObjectMetadata' | 'PartialObjectMetadataList' | 'APIGroupDiscoveryList';
  /** Version of the kind in `as`, for example `v1`; '' when `as` is ''. */
  readonly version: string;
}

const plain: AcceptedForm = { as: '', version: '' };
/**
 * For each kind in `as`, the versions that the gateway can write. Elements of an Accept header with another version are
 * skipped.
 */
const versions: Readonly<Record<AcceptedForm['as'], readonly string[]>> = {
  '': [],
  Table: ['v1'],
  PartialObjectMetadata: ['v1'],
  PartialObjectMetadataList: ['v1'],
  APIGroupDiscoveryList: ['v2', 'v2beta1'],
};

/**
 * Chooses, among `forms` (the forms that the requested endpoint can produce), the one that the client prefers. Without
 * an Accept header the answer is plain JSON.
 * @throws GatewayError NOT_ACCEPTABLE when the client accepts none of `forms`
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

/** One element of an Accept header, for example `application/json;as=Table;v=v1`. */
export interface MediaRange {
  /** Type and subtype in lower case, without parameters: `application/json`. */
  readonly mediaType: string;
  readonly parameters: ReadonlyMap<string, string>;
}

/**
 * Elements of all Accept headers, the preferred first (RFC 9110 section 12.5.1). An element with q=0 means "not
 * acceptable" and is left out.
 */
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
