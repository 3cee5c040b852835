// The tree of a parsed template.
import type { Value } from './values.ts';

/** One operand or call of a pipeline. `at` is the offset in the template's text. */
export type Operand =
  | { readonly kind: 'constant'; readonly value: Value }
  | { readonly kind: 'dot' }
  | { readonly kind: 'nil' }
  /** `.a.b` */
  | { readonly kind: 'field'; readonly names: readonly string[] }
  /** `$x.a.b`; the name includes the `$`. */
  | { readonly kind: 'variable'; readonly name: string; readonly fields: readonly string[] }
  | { readonly kind: 'function'; readonly name: string }
  | { readonly kind: 'pipeline'; readonly pipeline: Pipeline }
  /** `(…).a.b` */
  | { readonly kind: 'chain'; readonly of: Operand; readonly names: readonly string[] };

/** `first arg arg`. */
export interface Command {
  readonly operands: readonly Operand[];
  readonly at: number;
}

/** `$a, $b := command | command`. */
export interface Pipeline {
  readonly variables: readonly string[];
  /** `=` in place of `:=`. */
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

/** A parsed template with those it defines, by name. */
export interface Tree {
  readonly body: readonly Node[];
  readonly defined: ReadonlyMap<string, readonly Node[]>;
}
