// Kubernetes' CEL library of named formats (apiserver/pkg/cel/library/format.go): whether a text is a DNS label, a
// label's value, a UUID and so on, and what is wrong with it.
import { Optional } from '@marcbachmann/cel-js';
import { KubernetesValue } from './equality.ts';
import type { Library } from './library.ts';
import { urlFault } from './urls.ts';

type Check = (text: string) => readonly string[];

/** The CEL value that `format.named(…)` and functions such as `format.uuid()` return. */
export class NamedFormat extends KubernetesValue {
  static readonly typeName = 'kubernetes.NamedFormat';
  readonly name: string;
  readonly check: Check;

  constructor(name: string, check: Check) {
    super();
    this.name = name;
    this.check = check;
  }

  override equals(other: this): boolean {
    return this.name === other.name;
  }
}

const label = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';
const labelWords =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end " +
  'with an alphanumeric character';
const subdomain = `${label}(\\.${label})*`;
const subdomainWords =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start " +
  'and end with an alphanumeric character';
const oldLabel = '[a-z]([-a-z0-9]*[a-z0-9])?';
const oldLabelWords =
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, " +
  'and end with an alphanumeric character';
const name = '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]';
const nameWords =
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
const labelValueWords = `a valid label must be an empty string or ${nameWords.slice('must '.length)}`;

// Texts that are longer than the format allows are not matched, since matching a very long text could take long.
const isSubdomain = (text: string): boolean => text.length <= 4 * subdomainLength && matchesLabels(text);
const isName = /^[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?$/;
const labelLength = 63;
const subdomainLength = 253;

/**
 * Whether all parts between dots are DNS labels. They are checked one by one, because one regular expression for all of
 * them could backtrack, and its time would grow faster than the text.
 */
function matchesLabels(text: string): boolean {
  return text.split('.').every(isLabel);
}

function isLabel(text: string): boolean {
  return /^[-a-z0-9]+$/.test(text) && !text.startsWith('-') && !text.endsWith('-');
}

/** The message of Kubernetes for a text that does not match a pattern. The comma before `or` is Kubernetes' own. */
function patternFault(words: string, pattern: string, ...examples: readonly string[]): string {
  const listed = examples.map((example) => `'${example}', `).join(' or ');
  return `${words} (e.g. ${listed}regex used for validation is '${pattern}')`;
}

function lengthFaults(text: string, most: number): readonly string[] {
  return Buffer.byteLength(text) > most ? [`must be no more than ${most} characters`] : [];
}

function labelFaults(text: string): readonly string[] {
  const long = lengthFaults(text, labelLength);
  if (isLabel(text)) return long;
  const fault = isSubdomain(text) ? 'must not contain dots' : patternFault(labelWords, label, 'my-name', '123-abc');
  return [...long, fault];
}

function subdomainFaults(text: string): readonly string[] {
  const long = lengthFaults(text, subdomainLength);
  return matchesLabels(text) ? long : [...long, patternFault(subdomainWords, subdomain, 'example.com')];
}

function oldLabelFaults(text: string): readonly string[] {
  const long = lengthFaults(text, labelLength);
  if (isLabel(text) && /^[a-z]/.test(text)) return long;
  return [...long, patternFault(oldLabelWords, oldLabel, 'my-name', 'abc-123')];
}

function qualifiedNameFaults(text: string): readonly string[] {
  const examples = ['MyName', 'my.name', '123-abc'];
  const parts = text.split('/');
  if (parts.length > 2) {
    const words = patternFault(nameWords, name, ...examples);
    return [`a qualified name ${words} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`];
  }
  const [prefix, last = ''] = parts.length === 2 ? parts : [undefined, parts[0]];
  const faults = prefix === '' ? ['must be non-empty'] : prefix === undefined ? [] : subdomainFaults(prefix);
  const out = faults.map((fault) => `prefix part ${fault}`);
  if (last === '') out.push('name part must be non-empty');
  else out.push(...lengthFaults(last, labelLength).map((fault) => `name part ${fault}`));
  if (!matchesName(last)) out.push(`name part ${patternFault(nameWords, name, ...examples)}`);
  return out;
}

function matchesName(text: string): boolean {
  return /^[-A-Za-z0-9_.]+$/.test(text) && isName.test(`${text[0]}${text.at(-1)}`);
}

function labelValueFaults(text: string): readonly string[] {
  const long = lengthFaults(text, labelLength);
  if (text === '' || matchesName(text)) return long;
  return [...long, patternFault(labelValueWords, `(${name})?`, 'MyValue', 'my_value', '12345')];
}

/** Turns a check of a name into a check of a name prefix, which may end with a dash, since more characters follow. */
function ofPrefix(check: Check): Check {
  return (text) => check(text.length > 1 && text.endsWith('-') ? `${text.slice(0, -2)}a` : text);
}

function ifNot(holds: (text: string) => boolean, fault: string): Check {
  return (text) => (holds(text) ? [] : [fault]);
}

function isDate(text: string): boolean {
  const [, year, month, day] = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text) ?? [];
  if (year === undefined || Number(month) < 1 || Number(month) > 12) return false;
  const leap = Number(year) % 4 === 0 && (Number(year) % 100 !== 0 || Number(year) % 400 === 0);
  const days = [31, leap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
  return Number(day) >= 1 && Number(day) <= days[Number(month) - 1]!;
}

function isDateTime(text: string): boolean {
  const [date = '', time] = text.toLowerCase().split('t');
  const clock = /^(\d{2}):(\d{2}):(\d{2})(?:.\d+)?(?:z|[+-]\d{2}:\d{2})$/.exec(time ?? '');
  return clock !== null && isDate(date) && clock[1]! <= '23' && clock[2]! <= '59' && clock[3]! <= '59';
}

/** Whether the text is base64 as the Go package govalidator checks it: with padding, and not empty. */
function isBase64(text: string): boolean {
  return text.length > 0 && text.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(text);
}

function isUuid(text: string): boolean {
  return /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i.test(text);
}

const formats: readonly (readonly [key: string, name: string, check: Check])[] = [
  ['dns1123Label', 'DNS1123Label', labelFaults],
  ['dns1123Subdomain', 'DNS1123Subdomain', subdomainFaults],
  ['dns1035Label', 'DNS1035Label', oldLabelFaults],
  ['qualifiedName', 'QualifiedName', qualifiedNameFaults],
  ['dns1123LabelPrefix', 'DNS1123LabelPrefix', ofPrefix(labelFaults)],
  ['dns1123SubdomainPrefix', 'DNS1123SubdomainPrefix', ofPrefix(subdomainFaults)],
  ['dns1035LabelPrefix', 'DNS1035LabelPrefix', ofPrefix(oldLabelFaults)],
  ['labelValue', 'LabelValue', labelValueFaults],
  [
    'uri',
    'URI',
    (text) => {
      const fault = urlFault(text);
      return fault === undefined ? [] : [fault];
    },
  ],
  ['uuid', 'uuid', ifNot(isUuid, 'does not match the UUID format')],
  ['byte', 'byte', ifNot(isBase64, 'invalid base64')],
  ['date', 'date', ifNot(isDate, 'invalid date')],
  ['datetime', 'datetime', ifNot(isDateTime, 'invalid datetime')],
];

/** Registers `format.named`, one function for each format, such as `format.uuid()`, and `validate`. */
export function addFormats({ add, addType, addNamespace, steps }: Library): void {
  const f = NamedFormat.typeName;
  addType(f, NamedFormat);
  addNamespace('format', 'FormatNamespace');
  const known = new Map(formats.map(([key, name, check]) => [key, new NamedFormat(name, check)]));
  for (const [key, format] of known) add(`FormatNamespace.${key}(): ${f}`, () => format);
  add(`FormatNamespace.named(string): optional<${f}>`, (_: unknown, key: string) => {
    const format = known.get(key);
    return format === undefined ? Optional.none() : Optional.of(format);
  });
  add(`${f}.validate(string): optional<list<string>>`, ({ check }: NamedFormat, text: string) => {
    steps.spendText(text.length * 4);
    const faults = check(text);
    return faults.length === 0 ? Optional.none() : Optional.of(faults);
  });
}
