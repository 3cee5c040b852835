// Kubernetes' CEL library of semantic versions (apiserver/pkg/cel/library/semverlib.go), with the faults of the Go
// package blang/semver.
import { KubernetesValue, orderOfTexts } from './equality.ts';
import type { Library } from './library.ts';
import { CelFault } from './steps.ts';

type Label = bigint | string;

/** A semantic version. Build metadata (the part after `+`) is ignored when versions are compared. */
export class Version extends KubernetesValue {
  static readonly typeName = 'kubernetes.Semver';
  readonly numbers: readonly [major: bigint, minor: bigint, patch: bigint];
  readonly labels: readonly Label[];

  constructor(numbers: readonly [bigint, bigint, bigint], labels: readonly Label[]) {
    super();
    this.numbers = numbers;
    this.labels = labels;
  }

  /** Returns -1, 0 or 1 when this version is less than, equal to or greater than the other. */
  compare(other: Version): -1 | 0 | 1 {
    for (const [i, number] of this.numbers.entries()) {
      const difference = number - other.numbers[i]!;
      if (difference !== 0n) return difference > 0n ? 1 : -1;
    }
    const [mine, theirs] = [this.labels, other.labels];
    // A pre-release version, such as 1.0.0-rc.1, is less than the release.
    if (mine.length === 0 || theirs.length === 0) return sign(Number(mine.length === 0) - Number(theirs.length === 0));
    for (let i = 0; i < mine.length && i < theirs.length; i += 1) {
      const difference = compareLabels(mine[i]!, theirs[i]!);
      if (difference !== 0) return sign(difference);
    }
    return sign(mine.length - theirs.length);
  }

  override equals(other: this): boolean {
    return this.compare(other) === 0;
  }
}

function sign(value: number): -1 | 0 | 1 {
  return value > 0 ? 1 : value < 0 ? -1 : 0;
}

function compareLabels(one: Label, other: Label): number {
  if (typeof one === 'bigint') return typeof other === 'string' ? -1 : one < other ? -1 : one > other ? 1 : 0;
  return typeof other === 'bigint' ? 1 : orderOfTexts(one, other);
}

/** Parses a semantic version. @throws CelFault when the text is not one */
export function parseVersion(text: string): Version {
  if (text === '') throw new CelFault('Version string empty');
  const parts = splitInThree(text);
  if (parts.length !== 3) throw new CelFault('No Major.Minor.Patch elements found');
  const [major = '', minor = '', rest = ''] = parts;
  const [numbersOfMajor, numbersOfMinor] = [numberOf(major, 'major', 'Major'), numberOf(minor, 'minor', 'Minor')];
  const [withLabels, built] = cut(rest, '+');
  const [patch, labels] = cut(withLabels, '-');
  const numbers = [numbersOfMajor, numbersOfMinor, numberOf(patch, 'patch', 'Patch')] as const;
  const read = labels === undefined ? [] : labels.split('.').map(labelOf);
  for (const each of built?.split('.') ?? []) {
    if (each === '') throw new CelFault('Build meta data is empty');
    if (!alphanumeric.test(each)) throw new CelFault(`Invalid character(s) found in build meta data ${quoted(each)}`);
  }
  return new Version(numbers, read);
}

const alphanumeric = /^[0-9A-Za-z-]*$/;

function splitInThree(text: string): readonly string[] {
  const [first = '', second, ...rest] = text.split('.');
  return [first, second, rest.length > 0 ? rest.join('.') : undefined].filter((part) => part !== undefined);
}

function cut(text: string, at: string): [string, string | undefined] {
  const index = text.indexOf(at);
  return index < 0 ? [text, undefined] : [text.slice(0, index), text.slice(index + 1)];
}

function numberOf(digits: string, name: string, Name: string): bigint {
  if (!/^\d*$/.test(digits)) throw new CelFault(`Invalid character(s) found in ${name} number ${quoted(digits)}`);
  if (/^0\d/.test(digits)) throw new CelFault(`${Name} number must not contain leading zeroes ${quoted(digits)}`);
  return unsigned(digits);
}

/** Parses an unsigned 64-bit integer as Go's strconv.ParseUint does. @throws CelFault with Go's message */
function unsigned(digits: string): bigint {
  if (digits === '') throw new CelFault('strconv.ParseUint: parsing "": invalid syntax');
  const value = digits.length > 20 ? undefined : BigInt(digits);
  if (value === undefined || BigInt.asUintN(64, value) !== value)
    throw new CelFault(`strconv.ParseUint: parsing ${quoted(digits)}: value out of range`);
  return value;
}

function labelOf(label: string): Label {
  if (label === '') throw new CelFault('Prerelease is empty');
  if (!alphanumeric.test(label)) throw new CelFault(`Invalid character(s) found in prerelease ${quoted(label)}`);
  if (!/^\d+$/.test(label)) return label;
  if (/^0\d/.test(label))
    throw new CelFault(`Numeric PreRelease version must not contain leading zeroes ${quoted(label)}`);
  return unsigned(label);
}

function quoted(text: string): string {
  return JSON.stringify(text);
}

/**
 * Normalizes a version as Kubernetes does for `semver(text, true)`: removes a leading `v` and leading zeros, and adds
 * missing numbers.
 */
function normalized(text: string): string {
  const parts = splitInThree(text.replace(/^v/, '')).map((part) => {
    if (part.length <= 1) return part;
    const bare = part.replace(/^0+/, '');
    return /^\d/.test(bare) ? bare : `0${bare}`;
  });
  if (parts.length < 3 && /[+-]/.test(parts.at(-1)!))
    throw new CelFault('short version cannot contain PreRelease/Build meta data');
  return [...parts, '0', '0'].slice(0, Math.max(3, parts.length)).join('.');
}

/** Registers `semver`, `isSemver` and the methods of versions. */
export function addVersions({ add, addType, steps }: Library): void {
  const v = Version.typeName;
  addType(v, Version);
  const parse = (text: string, loosely = false): Version => {
    steps.spendText(text.length * 4);
    return parseVersion(loosely ? normalized(text) : text);
  };
  const isVersion = (text: string, loosely = false): boolean => {
    try {
      parse(text, loosely);
      return true;
    } catch {
      return false;
    }
  };
  add(`semver(string): ${v}`, (text: string) => parse(text));
  add(`semver(string, bool): ${v}`, parse);
  add('isSemver(string): bool', (text: string) => isVersion(text));
  add('isSemver(string, bool): bool', isVersion);
  for (const [i, name] of ['major', 'minor', 'patch'].entries())
    add(`${v}.${name}(): int`, ({ numbers }: Version) => BigInt.asIntN(64, numbers[i]!));
  const compared = (one: Version, other: Version): number => {
    steps.spend(1 + Math.min(one.labels.length, other.labels.length));
    return one.compare(other);
  };
  add(`${v}.isGreaterThan(${v}): bool`, (one: Version, other: Version) => compared(one, other) > 0);
  add(`${v}.isLessThan(${v}): bool`, (one: Version, other: Version) => compared(one, other) < 0);
  add(`${v}.compareTo(${v}): int`, (one: Version, other: Version) => BigInt(compared(one, other)));
}
