// The syntax tree of an expression, as the CEL package keeps it: more of it than the package's own types tell. Its
// version is fixed in package.json, and a test of each operator and macro would notice a change.
import type { Steps } from './steps.ts';

/** One part of an expression. */
export interface SyntaxNode {
  readonly op: string;
  args: unknown;
  readonly pos: number;
  readonly input: string;
  readonly meta: {
    /** What stands for this node: a constant, or the loop that a macro means. */
    readonly alternate?: SyntaxNode;
    readonly macro?: Readonly<Record<string, unknown>>;
    readonly evaluate: Evaluate;
  };
  /** What operators, calls and loops do with their values. The type check sets it. */
  handle?: Handle;
  setMeta(key: string, value: unknown): unknown;
}

type Evaluate = (evaluator: unknown, node: unknown, context: unknown) => unknown;
export type Handle = (...given: unknown[]) => unknown;

/** The node and all below it, each once. */
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

/** Values whose evaluation is free, as a node above them pays. */
const free: ReadonlySet<string> = new Set(['value', 'id', 'accuValue']);

/** Steps for a fault: the CEL package makes an error of it, with its place. */
const stepsOfFault = 50;

/**
 * Makes the evaluation of every node a step. A fault costs more, as `exists` may swallow very many. Only after the type
 * check, which sets how a node is evaluated.
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
        // The nodes above it see the same fault.
        if (fault !== lastFault) steps.spend(stepsOfFault);
        lastFault = fault;
        throw fault;
      }
    });
  }
}
