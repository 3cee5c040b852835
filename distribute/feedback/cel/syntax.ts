// Types of the syntax tree of the CEL package, with fields that the package does not declare. A new version of the
// package could change them, so its version is fixed in package.json, and tests cover each operator and macro.
import type { Steps } from './steps.ts';

/** A node of the syntax tree. */
export interface SyntaxNode {
  readonly op: string;
  args: unknown;
  readonly pos: number;
  readonly input: string;
  readonly meta: {
    /** The node that is evaluated in place of this one: a constant, or the loop into which a macro was expanded. */
    readonly alternate?: SyntaxNode;
    readonly macro?: Readonly<Record<string, unknown>>;
    readonly evaluate: Evaluate;
  };
  /** The function that computes an operator, call or loop from its operands. The type check sets it. */
  handle?: Handle;
  setMeta(key: string, value: unknown): unknown;
}

type Evaluate = (evaluator: unknown, node: unknown, context: unknown) => unknown;
export type Handle = (...given: unknown[]) => unknown;

/** Returns the node and all its descendants, each once. */
export function allNodes(root: SyntaxNode): ReadonlySet<SyntaxNode> {
  const found = new Set<SyntaxNode>();
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    if (!isNode(value)) {
      if (Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype)
        Object.values(value).forEach(visit);
      return;
    }
    if (found.has(value)) return;
    found.add(value);
    if (value.op !== 'value') visit(value.args);
    visit(value.meta.alternate);
    visit(value.meta.macro);
  };
  visit(root);
  return found;
}

function isNode(value: object): value is SyntaxNode {
  return 'setMeta' in value && typeof value.setMeta === 'function';
}

/** Operations of nodes that cost no step: literals and variables, for which the parent node counts a step. */
const free: ReadonlySet<string> = new Set(['value', 'id', 'accuValue']);

/** Steps for an error, which is slow: the CEL package creates an Error with the position in the expression. */
const stepsOfFault = 50;

/**
 * Makes every evaluation of a node count as a step, and an error as more steps, since `exists` may swallow very many
 * errors. Must be called after the type check, which sets the functions that are wrapped here.
 */
export function countNodes(nodes: ReadonlySet<SyntaxNode>, steps: Steps): void {
  let lastFault: unknown;
  for (const node of nodes) {
    if (free.has(node.op)) continue;
    const { evaluate } = node.meta;
    node.setMeta('evaluate', (evaluator: unknown, self: unknown, context: unknown) => {
      steps.spend(1);
      try {
        return evaluate(evaluator, self, context);
      } catch (fault) {
        // The error passes through all parent nodes; it is counted once.
        if (fault !== lastFault) steps.spend(stepsOfFault);
        lastFault = fault;
        throw fault;
      }
    });
  }
}
