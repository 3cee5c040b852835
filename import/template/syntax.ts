// The types of a parsed template's tree.
import type { Value } from './values/values.ts';

/** An operand of a command: a value, or a function to be called. */
export type Operand =
  | { readonly kind: 'constant'; readonly value: Value }
  | { readonly kind: 'dot' }
  | { readonly kind: 'nil' }
  /** Fields of the current value, such as `.a.b`. */
  | { readonly kind: 'field'; readonly names: readonly string[] }
  /** A variable with fields, such as `$x.a.b`; the name includes the `$`. */
  | { readonly kind: 'variable'; readonly name: string; readonly fields: readonly string[] }
  | { readonly kind: 'function'; readonly name: string }
  | { readonly kind: 'pipeline'; readonly pipeline: Pipeline }
  /** Fields of a parenthesised pipeline, such as `(…).a.b`. */
  | { readonly kind: 'chain'; readonly of: Operand; readonly names: readonly string[] };

/**
 * One stage of a pipeline: an operand followed by its arguments, `first arg arg`. `at` is its offset in the template's
 * text.
 */
export interface Command {
  readonly operands: readonly Operand[];
  readonly at: number;
}

/** Commands connected by `|`, with variables that get the result: `$a, $b := command | command`. */
export interface Pipeline {
  readonly variables: readonly string[];
  /** True for `=`, which assigns to existing variables; false for `:=`, which declares them. */
  readonly assigns: boolean;
  readonly commands: readonly Command[];
  readonly at: number;
}

export type Node =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'action'; readonly pipeline: Pipeline }
  | {
      readonly kind: 'if' | 'with' | 'range';
      readonly pipeline: Pipeline;
      readonly body: readonly Node[];
      readonly otherwise: readonly Node[];
    }
  | { readonly kind: 'template'; readonly name: string; readonly pipeline: Pipeline | undefined; readonly at: number }
  | { readonly kind: 'break' | 'continue' };

/** A parsed template, and the templates that it defines with `{{define}}`, by name. */
export interface Tree {
  readonly body: readonly Node[];
  readonly defined: ReadonlyMap<string, readonly Node[]>;
}
