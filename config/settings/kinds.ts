// The kinds of settings, such as durations, sizes and paths. A kind defines how a value is written and parses it;
// invalid values are reported as faults.
import { resolve } from 'node:path';
import { z } from 'zod';
import { parseDuration } from '../../lib/duration.ts';
import { isLabel, isSubdomain } from '../../lib/objects/api-names.ts';
import { parseHostPort } from '../../lib/text/host-port.ts';
import type { HostPort } from '../../lib/text/host-port.ts';
import type { Kind, Place } from './settings.ts';

const nonEmpty = z.string().min(1);
const count = z.union([z.number().int().min(0), nonEmpty]);

/** A kind whose values are text; `read` gets a text that is not empty. */
function textKind<T>(placeholder: string, read: (text: string, place: Place) => T | undefined): Kind<T> {
  return {
    placeholder,
    file: nonEmpty,
    read: (written, place) => (written === '' ? place.fault('is empty') : read(String(written), place)),
  };
}

/** Any text that is not empty. */
export const text: Kind<string> = textKind('<text>', (written) => written);

/** Any text; the empty text is a value, too. */
export const anyText: Kind<string> = { ...text, file: z.string(), read: String };

/** The absolute path of a file or folder. */
export const path: Kind<string> = textKind('<file>', (written, { folder }) => resolve(folder, written));

/**
 * The absolute path of a file or folder.
 * @param others special values that are returned unchanged, such as `-` for standard output
 */
export function pathOr(...others: readonly string[]): Kind<string> {
  const read: Kind<string>['read'] = (written, place) =>
    others.includes(String(written)) ? String(written) : path.read(written, place);
  return { placeholder: '<file>', file: others.includes('') ? z.string() : nonEmpty, read };
}

/** Joins texts as in `a, b or c`. */
const alternatives = new Intl.ListFormat('en-GB', { type: 'disjunction' });

/** One of a few texts. */
export function oneOf<T extends string>(...choices: readonly T[]): Kind<T> {
  const read = (written: string, place: Place): T | undefined =>
    choices.find((one) => one === written) ??
    place.fault(`must be ${alternatives.format(choices.map((one) => JSON.stringify(one)))}`);
  return { ...textKind('<mode>', read), choices, file: z.enum(choices) };
}

/** True or false. The flag without a value means true. */
export const onOff: Kind<boolean> = {
  placeholder: '[boolean]',
  file: z.boolean(),
  read: (written, place) => {
    if (String(written) === 'true') return true;
    return String(written) === 'false' ? false : place.fault('must be "true" or "false"');
  },
};

/** The elements of a comma-separated text, without duplicates and without empty ones. */
export function listOf(written: string): readonly string[] {
  return [...new Set(written.split(',').map((one) => one.trim()))].filter((one) => one !== '');
}

/** Schema of a list in the configuration file: a comma-separated text, or a list of texts. */
const textOrTexts = z.union([z.string(), z.array(nonEmpty).readonly()]);

/**
 * A list: comma-separated text, or in the configuration file a list as well.
 * @param faultOf returns why one element is wrong; undefined when it is right
 * @param split splits a text into its elements
 */
export function list(
  faultOf: (one: string) => string | undefined = () => undefined,
  split: (written: string) => readonly string[] = listOf,
): Kind<readonly string[]> {
  return {
    placeholder: '<names>',
    file: textOrTexts,
    read: (written, place) => {
      const all = Array.isArray(written) ? (written as readonly string[]) : split(String(written));
      for (const message of all.map(faultOf)) if (message !== undefined) place.fault(message);
      return all;
    },
  };
}

/**
 * Texts that are not split at commas: a flag that can be given more than once; in the configuration file one text or a
 * list.
 */
export const repeated: Kind<readonly string[]> = {
  placeholder: '<text>',
  isRepeatable: true,
  file: z.union([nonEmpty, z.array(nonEmpty).readonly()]),
  read: (written) => [written as string | readonly string[]].flat(),
};

/** Absolute paths: a flag that can be given more than once; in the configuration file one path or a list. */
export const paths: Kind<readonly string[]> = {
  ...repeated,
  placeholder: '<file>',
  read: (written, { folder }) => [written as string | readonly string[]].flat().map((one) => resolve(folder, one)),
};

/** A whole number. */
export function whole({ least = 0, most = Infinity }: { least?: number; most?: number } = {}): Kind<number> {
  const range = most === Infinity ? ` of at least ${least}` : ` from ${least} to ${most}`;
  const read = (written: string, place: Place): number | undefined => {
    const value = /^\d{1,15}$/.test(written) ? Number(written) : Number.NaN;
    return value >= least && value <= most ? value : place.fault(`"${written}" is not a whole number${range}`);
  };
  return { ...textKind('<n>', read), file: count };
}

/** A limit: a whole number, where 0 means no limit. No limit is read as Infinity. */
export const limit: Kind<number> = {
  ...whole(),
  read: (written, place) => {
    const value = whole().read(written, { ...place, fault: (message) => place.fault(`${message}; 0 means no limit`) });
    return value === 0 ? Infinity : value;
  },
};

/** A number of seconds, only in the configuration file; read in milliseconds. */
export function seconds({ least = 0 }: { least?: number } = {}): Kind<number> {
  return { placeholder: '<seconds>', file: z.number().min(least).max(3600), read: (written) => Number(written) * 1000 };
}

/**
 * A duration such as `10s` or `1m30s`, in milliseconds.
 * @param range the shortest and longest duration, as texts such as `1ms`, and examples for the error message
 */
export function duration({
  least = '0s',
  most = '',
  example = '10s or 1m30s',
}: {
  least?: string;
  most?: string;
  example?: string;
} = {}): Kind<number> {
  const upTo = most === '' ? '' : ` up to ${most}`;
  const range = least === '0s' ? upTo : ` of at least ${least}${upTo === '' ? '' : ` and${upTo}`}`;
  return textKind('<duration>', (written, place) => {
    const value = parseDuration(written);
    const isRight = value !== undefined && value >= parseDuration(least)! && value <= (parseDuration(most) ?? Infinity);
    return isRight ? value : place.fault(`"${written}" is not a duration${range}, for example ${example}`);
  });
}

const sizeUnits: Readonly<Record<string, number>> = {
  '': 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  Ki: 1024,
  Mi: 1024 ** 2,
  Gi: 1024 ** 3,
};

/** The bytes of a size such as `512Mi`, `2Gi`, `1500M` or `1048576`; undefined when the text is no size. */
export function parseSize(written: string): number | undefined {
  const match = /^(\d+(?:\.\d+)?)(|k|M|G|Ki|Mi|Gi)$/.exec(written);
  return match === null ? undefined : Math.floor(Number(match[1]) * sizeUnits[match[2]!]!);
}

/**
 * A size in bytes. @param least the smallest allowed size, as a text such as `128Mi` @param example example sizes for
 * the error message
 */
export function size(least: string, example: string): Kind<number> {
  const leastBytes = parseSize(least)!;
  const read = (written: string, place: Place): number | undefined => {
    const bytes = parseSize(written);
    return bytes !== undefined && bytes >= leastBytes
      ? bytes
      : place.fault(`"${written}" is not a size of at least ${least}, for example ${example}`);
  };
  return { ...textKind('<size>', read), file: count };
}

/** HOST:PORT. */
export const hostPort: Kind<HostPort> = textKind(
  '<host:port>',
  (written, place) =>
    parseHostPort(written) ?? place.fault(`"${written}" is not HOST:PORT, for example 127.0.0.1:8443`),
);

/** The name of a namespace. */
export const namespace: Kind<string> = textKind('<ns>', (written, place) =>
  isLabel(written) ? written : place.fault(`"${written}" is not the name of a namespace`),
);

/** Names of namespaces. */
export const namespaces: Kind<readonly string[]> = list((one) =>
  isLabel(one) ? undefined : `"${one}" is not the name of a namespace`,
);

/** Namespace and name of an object on the hub. */
export interface NamespacedName {
  readonly namespace: string;
  readonly name: string;
}

/** NAMESPACE/NAME of an object on the hub, such as a Lease. */
export const namespacedName: Kind<NamespacedName> = textKind('<ns/name>', (written, place) => {
  const [ofNamespace = '', name = '', ...rest] = written.split('/');
  return isLabel(ofNamespace) && isSubdomain(name) && rest.length === 0
    ? { namespace: ofNamespace, name }
    : place.fault(`"${written}" is not NAMESPACE/NAME`);
});
