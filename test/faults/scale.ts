// By what the TTLs and deadlines of the gateway are shortened in tests of faults, and so how long these wait. A bound
// the product states is scaled like the product's own deadline, with a fixed second or two for a busy machine on top,
// never the other way round.

/** Set by run.ts; without it the tests of a whole e2e run are meant. */
const written = process.env['PORTCULLIS_FAULTS_TIME_SCALE'] ?? '0.2';

/** 1 with `--real`. */
export const timeScale = Number(written);
if (!(timeScale >= 0.05 && timeScale <= 1)) throw new Error(`a time scale of ${written} is not between 0.05 and 1`);

/** Whether faults last as long as they are said to and scales are those of a run by hand. */
export const isReal = timeScale === 1;

/**
 * Minutes of a fault that lasts as long as one wants; a quarter of an hour says no less than an hour, so it is chosen
 * by who runs it.
 */
export const longFaultMinutes = Number(process.env['PORTCULLIS_FAULTS_MINUTES'] ?? '1');

/** What a gateway process needs in its environment to hurry. */
export const scaledEnvironment: Readonly<Record<string, string>> = isReal
  ? {}
  : { PORTCULLIS_TEST_TIME_SCALE: String(timeScale) };

/** A time of the product as the tests see it. */
export function scaled(milliseconds: number): number {
  return milliseconds * timeScale;
}

/** What a busy machine may add to a bound. */
export const slackMs = 2_000;

/** Told in every file, so that a figure is never read without its scale. */
export function printScale(file: string, what = ''): void {
  process.stderr.write(
    `${file}: time scale ${timeScale}${isReal ? ' (real time)' : ''}${what === '' ? '' : `, ${what}`}\n`,
  );
}

/** Prints a figure for docs/reliability.md. */
export function figure(row: string, text: string): void {
  process.stderr.write(`figure ${row}: ${text}\n`);
}
