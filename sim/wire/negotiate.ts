// Chooses by the Accept header how an answer is written: as JSON or YAML; as whole object, as Table, or as metadata
// only (apiserver/pkg/endpoints/handlers/negotiation). The first supported media type is used. Protobuf is not
// supported.
import { notAcceptable } from '../model/status-error.ts';

/** How an answer is written. `partial` is PartialObjectMetadata. */
export interface Negotiated {
  readonly format: 'json' | 'yaml';
  readonly shape: 'object' | 'table' | 'partial';
}

const plain: Negotiated = { format: 'json', shape: 'object' };
const served = ['application/json', 'application/yaml'];

/**
 * Parses an Accept header. Without the header, the answer is JSON.
 * @throws StatusError 406 when no media type in it is supported
 */
export function negotiate(accept: string | undefined): Negotiated {
  if (accept === undefined || accept.trim() === '') return plain;
  for (const clause of accept.split(',')) {
    const [type = '', ...parameters] = clause.split(';').map((part) => part.trim());
    const format = formatOf(type);
    if (format === undefined) continue;
    const values = new Map(parameters.map((parameter) => parameter.split('=') as [string, string]));
    const as = values.get('as');
    if (as === undefined) return { format, shape: 'object' };
    if (values.get('g') !== 'meta.k8s.io' || (values.get('v') ?? 'v1') !== 'v1') continue;
    if (as === 'Table') return { format, shape: 'table' };
    if (as === 'PartialObjectMetadata' || as === 'PartialObjectMetadataList') return { format, shape: 'partial' };
  }
  throw notAcceptable(served);
}

function formatOf(type: string): 'json' | 'yaml' | undefined {
  if (type === 'application/json' || type === '*/*' || type === 'application/*') return 'json';
  return type === 'application/yaml' ? 'yaml' : undefined;
}
