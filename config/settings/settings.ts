// One row for each setting of `portcullis serve`. From the rows of all sections come the flags and their help, the
// schema of the configuration file, the tables of the reference page and the schema of the chart's values, so a new
// setting is one new row. A flag overrides the file. Relative paths in flags refer to the working directory, relative
// paths in the file to the folder of the file.
import type { z } from 'zod';

/** Reports that a flag, or the key of the same name in the configuration file, is wrong. */
export type Fault = (flag: string, message: string) => void;

/**
 * The place where a value was written, a flag or the file: the folder for relative paths, and the function that reports
 * a wrong value.
 */
export interface Place {
  /** Folder to which a relative path refers; '' for the working directory. */
  readonly folder: string;
  /** Reports that the value is wrong. */
  readonly fault: (message: string) => undefined;
}

/** How the values of a setting are written and read. config/settings/kinds.ts has the kinds. */
export interface Kind<T> {
  /** The placeholder for the value in --help, such as `<file>`. */
  readonly placeholder: string;
  /** Values among which the operator chooses; undefined when there are more than can be listed. */
  readonly choices?: readonly string[];
  /** True when the flag can be given more than once. */
  readonly isRepeatable?: boolean;
  /**
   * Schema of the value in the configuration file. Values of flags are texts, except those of switches and repeatable
   * flags.
   */
  readonly file: z.ZodType;
  /** Returns the value; undefined after `place.fault` was called. */
  read(written: unknown, place: Place): T | undefined;
}

/** A row of the table: one setting. */
export interface Setting<T = unknown> {
  readonly kind: Kind<T>;
  /** The default, in the form in which an operator would write it. */
  readonly default?: string | number | boolean | readonly string[];
  /** Describes the default in words, if it is not one fixed value. */
  readonly otherwise?: string;
  /** What the setting does, in Markdown, for the help and the reference page. */
  readonly text: string;
  /** The placeholder for the value in --help, if it differs from that of the kind. */
  readonly placeholder?: string;
  /** Another name that users of cluster-gateway know; accepted as a flag, but not shown in --help. */
  readonly alias?: string;
  /** True for a setting of the configuration file that has no flag. */
  readonly hasNoFlag?: boolean;
}

/** The default in Markdown, for the help and the reference page; '' when there is none. */
export function defaultText({ default: value, otherwise }: Setting): string {
  return otherwise ?? (value === undefined ? '' : `\`${String(value)}\``);
}

/** Settings by name. The name is the key of the configuration file; the flag is the name in kebab case. */
export type Settings = Readonly<Record<string, Setting>>;

/** The values of settings; undefined for a setting that has no default and was not written. */
export type Values<S extends Settings> = {
  readonly [K in keyof S]: S[K] extends { readonly kind: Kind<infer T> }
    ? S[K] extends { readonly default: unknown }
      ? T
      : T | undefined
    : never;
};

/** The settings as the operator wrote them, before they are checked. */
export interface Written {
  /** The flags that were given, under the names of the settings. */
  readonly flags: Readonly<Record<string, unknown>>;
  /** Settings in the configuration file; empty when there is no file. */
  readonly file: Readonly<Record<string, unknown>>;
  /** Folder of the configuration file; '' when there is no file. */
  readonly folder: string;
  readonly fault: Fault;
}

/** The flag of a setting: `--max-streams` for `maxStreams`. */
export function flagOf(name: string): string {
  return `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** True when the operator wrote the setting, as a flag or in the configuration file. */
export function isWritten({ flags, file }: Written, name: string): boolean {
  return flags[name] !== undefined || file[name] !== undefined;
}

/**
 * Reads the values of settings. `written.fault` is called for each one that is wrong; its value is then as if it had
 * not been written.
 */
export function readSettings<S extends Settings>(settings: S, written: Written): Values<S> {
  return Object.fromEntries(
    Object.entries(settings).map(([name, setting]) => [name, readSetting(name, setting, written)]),
  ) as Values<S>;
}

function readSetting(name: string, setting: Setting, { flags, file, folder, fault }: Written): unknown {
  const place = (from: string): Place => ({ folder: from, fault: (message) => void fault(flagOf(name), message) });
  const read = (value: unknown, from: string): unknown =>
    value === undefined ? undefined : setting.kind.read(value, place(from));
  return (flags[name] === undefined ? read(file[name], folder) : read(flags[name], '')) ?? read(setting.default, '');
}

/** Settings that are written as flags alone, without a configuration file. */
export function flagsAlone(flags: Written['flags'] = {}, fault: Fault = () => undefined): Written {
  return { flags, file: {}, folder: '', fault };
}

/**
 * For a section that is off: calls `written.fault` for each of its settings that is written nevertheless.
 * @param isOn name of the setting that would switch the section on
 */
export function refuseUnused<S extends Settings>(settings: S, isOn: keyof S & string, written: Written): void {
  // A value that is neither true nor false is wrong, and was reported already.
  if (isWritten(written, isOn) && String(written.flags[isOn] ?? written.file[isOn]) !== 'false') return;
  for (const name of Object.keys(settings))
    if (name !== isOn && isWritten(written, name))
      written.fault(flagOf(name), `is only used with ${flagOf(isOn)}: add that flag, or remove this one`);
}
