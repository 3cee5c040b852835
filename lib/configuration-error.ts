// The error for faults in files that the operator wrote: all of them at once, each with file, line and reason. Easy to
// get wrong: a message must never quote the file, because the faulty line may hold a token.

/** One fault in one file. */
export interface ConfigurationFault {
  readonly file: string;
  /** Line number, counted from 1. */
  readonly line?: number | undefined;
  /** Column number, counted from 1. */
  readonly column?: number | undefined;
  /** Path of the faulty value in the document, for example `users[2].user.token`. */
  readonly path?: string | undefined;
  /** What is wrong and, where known, how to correct it. */
  readonly message: string;
}

/**
 * Thrown when a configuration cannot be used. The process then does not start, or a reload keeps the previous
 * configuration. `message` has one line for each fault.
 */
export class ConfigurationError extends Error {
  readonly faults: readonly ConfigurationFault[];

  constructor(faults: readonly ConfigurationFault[]) {
    super(faults.map(faultText).join('\n'));
    this.name = 'ConfigurationError';
    this.faults = faults;
  }
}

/** Formats a fault as `file:line:column: path: reason`, the way compilers do, so that editors can jump to it. */
export function faultText(fault: ConfigurationFault): string {
  const position = [fault.file, fault.line, fault.column].filter((part) => part !== undefined).join(':');
  return `${position}: ${fault.path ? `${fault.path}: ` : ''}${fault.message}`;
}
