// How much one rendering may do. A policy's author may be anybody who may create policies on the hub, and the process
// that renders it also serves requests.
import { TemplateError } from './template-error.ts';

/** Bounds of one rendering. */
export const templateLimits = {
  /** Bytes of a template's text. */
  source: 256 * 1024,
  /** Nodes that are executed and values that functions look at. */
  steps: 100_000,
  /** Bytes of the output. */
  output: 1024 * 1024,
  /** Bytes of all texts that functions make. */
  memory: 16 * 1024 * 1024,
  /** How deep parentheses, blocks and calls of templates may nest. */
  depth: 64,
};

/** Counts down while a template runs. Every method throws TemplateError when its bound is reached. */
export class Budget {
  #steps = templateLimits.steps;
  #memory = templateLimits.memory;
  #output = templateLimits.output;

  step(count = 1): void {
    this.#steps -= count;
    if (this.#steps < 0) throw new TemplateError(`it takes more than ${templateLimits.steps} steps`);
  }

  /** A function is about to make, or has made, so many bytes. */
  make(bytes: number): void {
    this.#memory -= bytes;
    if (this.#memory < 0) throw new TemplateError(`its texts take more than ${templateLimits.memory} bytes`);
  }

  print(bytes: number): void {
    this.#output -= bytes;
    if (this.#output < 0) throw new TemplateError(`it prints more than ${templateLimits.output} bytes`);
  }
}
