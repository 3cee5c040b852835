// Validates names, labels and annotations as kube-apiserver does (apimachinery/pkg/util/validation,
// pkg/api/validation). Names of RBAC objects may contain colons, names of Services and Namespaces are DNS labels, most
// others are DNS subdomains.
import { randomBytes } from 'node:crypto';
import type { Resource } from './resources.ts';
import { invalidField, requiredField, type FieldFault } from '../model/status-error.ts';
import type { ObjectMeta } from '../model/types.ts';

const subdomain = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const dnsLabel = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const qualifiedName = /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/;
const labelValue = /^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$/;

const subdomainMessage =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an " +
  "alphanumeric character (e.g. 'example.com', regex used for validation is " +
  "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const labelMessage =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an " +
  "alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";

/** Why the name is not valid for an object of this resource; undefined when it is valid. */
function nameFault(resource: Resource, name: string): string | undefined {
  if (resource.group === 'rbac.authorization.k8s.io') {
    if (name === '.' || name === '..') return `may not be '${name}'`;
    const bad = ['/', '%'].find((character) => name.includes(character));
    return bad === undefined ? undefined : `may not contain '${bad}'`;
  }
  if (resource.plural === 'namespaces' || resource.plural === 'services') {
    if (name.length > 63) return 'must be no more than 63 characters';
    return dnsLabel.test(name) ? undefined : labelMessage;
  }
  if (name.length > 253) return 'must be no more than 253 characters';
  return subdomain.test(name) ? undefined : subdomainMessage;
}

/** The errors in the metadata of an object. */
export function metadataFaults(resource: Resource, metadata: Partial<ObjectMeta>): FieldFault[] {
  const faults: FieldFault[] = [];
  const name = metadata.name ?? '';
  if (name === '') faults.push(requiredField('metadata.name', 'name or generateName is required'));
  else {
    const why = nameFault(resource, name);
    if (why !== undefined) faults.push(invalidField('metadata.name', name, why));
  }
  for (const [key, value] of Object.entries(metadata.labels ?? {})) {
    faults.push(...keyFaults('metadata.labels', key));
    if (typeof value !== 'string' || value.length > 63 || !labelValue.test(value))
      faults.push(
        invalidField(
          'metadata.labels',
          value,
          "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end " +
            "with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is " +
            "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
        ),
      );
  }
  let annotationBytes = 0;
  for (const [key, value] of Object.entries(metadata.annotations ?? {})) {
    faults.push(...keyFaults('metadata.annotations', key.toLowerCase()));
    annotationBytes += key.length + String(value).length;
  }
  if (annotationBytes > 256 * 1024)
    faults.push({
      reason: 'FieldValueTooLong',
      message: 'Too long: may not be more than 262144 bytes',
      field: 'metadata.annotations',
    });
  return faults;
}

function keyFaults(field: string, key: string): FieldFault[] {
  const slash = key.indexOf('/');
  const name = key.slice(slash + 1);
  const isGood = qualifiedName.test(name) && name.length <= 63 && (slash < 0 || subdomain.test(key.slice(0, slash)));
  if (isGood) return [];
  return [
    invalidField(
      field,
      key,
      "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character " +
        "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
    ),
  ];
}

const suffixAlphabet = 'bcdfghjklmnpqrstvwxz2456789';

/** A random suffix for object names. */
export function randomSuffix(length = 5): string {
  return [...randomBytes(length)].map((byte) => suffixAlphabet[byte % suffixAlphabet.length]).join('');
}

/** A name with five random characters after the prefix, for generateName. */
export function generatedName(prefix: string): string {
  return prefix.slice(0, 58) + randomSuffix();
}
