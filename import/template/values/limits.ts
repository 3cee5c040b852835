// Limits for rendering one template. The author of a ClusterImportPolicy may be anybody who may create policies on the
// hub, and the process that renders the templates also serves requests.
import { TemplateError, TemplateTooDear } from './template-error.ts';

/** The limits of one template and of one rendering. Beyond a limit, parsing or rendering fails with TemplateError. */
export const templateLimits = {
  /** Characters of the template's text. */
  source: 256 * 1024,
  /** Nodes that are executed, plus what functions cost for the values that they examine. */
  steps: 100_000,
  /** Bytes of the output. */
  output: 1024 * 1024,
  /** Bytes of all texts that functions create during one rendering, including those that are dropped again. */
  memory: 16 * 1024 * 1024,
  /**
   * Milliseconds that one rendering may run. The counts above bound it to less. This is the net for whatever costs more
   * than it is counted for, and is looked at with each step. Time in which the thread waits for a core is not counted,
   * or a busy gateway would refuse what an idle one prints.
   */
  milliseconds: 200,
  /** How deep parentheses, blocks and calls of templates may be nested. */
  depth: 64,
};

/** Clocks of a rendering, in milliseconds. */
export interface Clocks {
  /** Time that has passed; cheap enough for each step. */
  readonly now: () => number;
  /** Time that the thread has run. */
  readonly ran: () => number;
}

const now = (): number => performance.now();
/** Node before 23.9 does not tell it: what has passed is counted there. */
const ran = (): number => {
  if ((process as Partial<NodeJS.Process>).threadCpuUsage === undefined) return now();
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
};

/** Counts what a template uses while it runs. Every method throws TemplateError when its limit is exceeded. */
export class Budget {
  #steps = templateLimits.steps;
  #memory = templateLimits.memory;
  #output = templateLimits.output;
  readonly #clocks: Clocks;
  /** When the thread has run for too long. */
  readonly #lastMs: number;
  /** Before it has passed, nothing can have run for too long. */
  #lookAtMs: number;

  constructor(clocks: Clocks = { now, ran }) {
    this.#clocks = clocks;
    this.#lastMs = clocks.ran() + templateLimits.milliseconds;
    this.#lookAtMs = clocks.now() + templateLimits.milliseconds;
  }

  step(count = 1): void {
    this.#steps -= count;
    if (this.#steps < 0) throw new TemplateTooDear(`it takes more than ${templateLimits.steps} steps`);
    const nowMs = this.#clocks.now();
    if (nowMs <= this.#lookAtMs) return;
    const leftMs = this.#lastMs - this.#clocks.ran();
    if (leftMs < 0) throw new TemplateTooDear(`it takes longer than ${templateLimits.milliseconds} ms`);
    this.#lookAtMs = nowMs + leftMs;
  }

  /** Counts bytes that a function creates. */
  make(bytes: number): void {
    this.#memory -= bytes;
    if (this.#memory < 0) throw new TemplateError(`its texts take more than ${templateLimits.memory} bytes`);
  }

  print(bytes: number): void {
    this.#output -= bytes;
    if (this.#output < 0) throw new TemplateError(`it prints more than ${templateLimits.output} bytes`);
  }
}
