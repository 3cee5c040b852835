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
   * Milliseconds that one rendering may run. The limits above usually end it earlier. This limit is for work that costs
   * more than the steps and bytes counted for it; it is checked at each step. Time in which the thread waits for a CPU
   * core is not counted, or a busy gateway would refuse what an idle one renders.
   */
  milliseconds: 200,
  /** How deep parentheses, blocks and calls of templates may be nested. */
  depth: 64,
};

/** Clocks of a rendering, in milliseconds. */
export interface Clocks {
  /** Elapsed time. It can be read fast enough for each step. */
  readonly now: () => number;
  /** Time that the thread has run. */
  readonly ran: () => number;
}

const now = (): number => performance.now();
/** CPU time of this thread. Node before 23.9 cannot measure it, so elapsed time is used there. */
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
  /** The CPU time of the thread at which the rendering has taken too long. */
  readonly #lastMs: number;
  /**
   * The elapsed time at which the CPU time is measured next. Before then, the rendering cannot have used up its CPU
   * time.
   */
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
