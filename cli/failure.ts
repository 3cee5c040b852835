// The one error type the command line throws on purpose: a message and the next step to take. Messages are printed
// as they are, so they never carry a token or a key.

/** What a process of ours may exit with: done, tried and failed, or asked for something impossible. */
export const exitCodes = { ok: 0, failed: 1, usage: 2 } as const;

/** One of {@link exitCodes}. */
export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** A failure with its remedy. `exitCode` 1 means the work failed, 2 that flags or configuration cannot be right. */
export class Failure extends Error {
  readonly exitCode: 1 | 2;
  /** What the person should do, a sentence or a command; '' when the message says it all. */
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

/** A {@link Failure} with exit code 2: wrong flags, unreadable or malformed files. */
export function usageFailure(message: string, nextStep: string, cause?: unknown): Failure {
  return new Failure(message, nextStep, { exitCode: exitCodes.usage, cause });
}

const accidents = [TypeError, ReferenceError, RangeError, SyntaxError, URIError];

/**
 * How an error is shown: `portcullis: message`, then the next step on its own line. Control characters are made
 * visible. An error that the language throws, not we, is a bug and keeps its stack.
 */
export function describeFailure(error: unknown): string {
  if (!(error instanceof Error)) return `portcullis: ${printable(String(error))}\n`;
  // Node's own errors are such types too, but carry a code, and are about the world more often than about us.
  if (!('code' in error) && accidents.some((accident) => error instanceof accident)) {
    return `portcullis: this is a bug, please report it\n${printable(error.stack ?? error.message)}\n`;
  }
  const nextStep = error instanceof Failure ? error.nextStep : '';
  return `portcullis: ${printable(error.message)}\n${nextStep === '' ? '' : `${printable(nextStep)}\n`}`;
}

/** Exit code for anything thrown: its own `exitCode` when it carries a sensible one, else 1. */
export function exitCodeOf(error: unknown): number {
  if (typeof error === 'object' && error !== null && 'exitCode' in error) {
    const { exitCode } = error;
    if (typeof exitCode === 'number' && Number.isInteger(exitCode) && exitCode > 0 && exitCode < 256) return exitCode;
  }
  return exitCodes.failed;
}

/**
 * Text that cannot move the cursor or recolour the terminal: escape sequences in a server's answer become visible, as
 * kubectl does. Line feeds and tabs stay.
 */
export function printable(text: string): string {
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, (character) =>
    character === '\u001b' ? '^[' : `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`,
  );
}
