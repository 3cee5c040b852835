// What is wrong with a file the operator wrote, all faults at once with file, line and reason. Easy to get wrong: a
// message must never quote the file, since the line at fault may be the one with the token.

/** One fault in one file. */
export interface ConfigurationFault {
  readonly file: string;
  /** From 1. */
  readonly line?: number | undefined;
  /** From 1. */
  readonly column?: number | undefined;
  /** Where in the document: `users[2].user.token`. */
  readonly path?: string | undefined;
  /** Reason, with what to do about it where we know. */
  readonly message: string;
}

/** Start-up refuses, or a reload keeps the last good state. `message` has one line a fault. */
export class ConfigurationError extends Error {
  readonly faults: readonly ConfigurationFault[];

  constructor(faults: readonly ConfigurationFault[]) {
    super(faults.map(faultText).join('\n'));
    this.name = 'ConfigurationError';
    this.faults = faults;
  }
}

/** `file:line:column: path: reason`, as compilers print it so that editors can jump there. */
export function faultText(fault: ConfigurationFault): string {
  const position = [fault.file, fault.line, fault.column].filter((part) => part !== undefined).join(':');
  return `${position}: ${fault.path ? `${fault.path}: ` : ''}${fault.message}`;
}
