// The error type that commands throw on purpose: a message, and advice what to do. Security: messages are printed as
// they are, so they must never contain a token or a key.

/** Exit codes: `ok` for done, `failed` for an attempt that did not succeed, `usage` for wrong flags or files. */
export const exitCodes = { ok: 0, failed: 1, usage: 2 } as const;

/** The exit code of a command: one of {@link exitCodes}. */
export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/**
 * An error with advice for the person who runs the command. `exitCode` is 1 when the work failed, 2 when flags or
 * configuration are wrong.
 */
export class Failure extends Error {
  readonly exitCode: 1 | 2;
  /** Advice for the person, a sentence or a command; '' when the message says everything. */
  readonly nextStep: string;

  constructor(
    message: string,
    nextStep: string,
    options: { readonly exitCode?: 1 | 2; readonly cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'Failure';
    this.exitCode = options.exitCode ?? exitCodes.failed;
    this.nextStep = nextStep;
  }
}

/** A {@link Failure} with exit code 2: wrong flags, or files that are unreadable or malformed. */
export function usageFailure(message: string, nextStep: string, cause?: unknown): Failure {
  return new Failure(message, nextStep, { exitCode: exitCodes.usage, cause });
}

const accidents = [TypeError, ReferenceError, RangeError, SyntaxError, URIError];

/**
 * Returns an error as it is printed: `portcullis: message`, then the advice on its own line. Control characters are
 * made visible. An error such as TypeError is a bug in Portcullis and is printed with its stack.
 */
export function describeFailure(error: unknown): string {
  if (!(error instanceof Error)) return `portcullis: ${printable(String(error))}\n`;
  // Errors from Node's own functions can be a TypeError and the like too, but they have a code. They mostly report a
  // problem of the system and not a bug.
  if (!('code' in error) && accidents.some((accident) => error instanceof accident)) {
    return `portcullis: this is a bug, please report it\n${printable(error.stack ?? error.message)}\n`;
  }
  const nextStep = error instanceof Failure ? error.nextStep : '';
  return `portcullis: ${printable(error.message)}\n${nextStep === '' ? '' : `${printable(nextStep)}\n`}`;
}

/** The exit code for a thrown value: its field `exitCode` if it is a number from 1 to 255, otherwise 1. */
export function exitCodeOf(error: unknown): number {
  if (typeof error === 'object' && error !== null && 'exitCode' in error) {
    const { exitCode } = error;
    if (typeof exitCode === 'number' && Number.isInteger(exitCode) && exitCode > 0 && exitCode < 256) return exitCode;
  }
  return exitCodes.failed;
}

/**
 * Makes control characters visible, as kubectl does, so that a server's answer cannot move the cursor or change colours
 * of the terminal. Newlines and tabs are kept.
 */
export function printable(text: string): string {
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, (character) =>
    character === '\u001b' ? '^[' : `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`,
  );
}
