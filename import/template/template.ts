// Go's text/template with the functions of sprig that need nothing but their arguments: what Clusterpedia's policies
// are written in. See README.md beside this file.
import { executeTemplate } from './execute.ts';
import { functionFault, functions } from './functions.ts';
import { Budget } from './limits.ts';
import { parseTemplate } from './parser.ts';
import { TemplateError } from './template-error.ts';
import { textOf, valueOf } from './values.ts';

export { TemplateError } from './template-error.ts';

/** A template that was read. */
export interface Template {
  /**
   * The output as bytes: a value of a Secret that is decoded need not be text.
   * @param data what JSON.parse gives; it is not changed
   * @throws TemplateError where Go's engine fails, or a bound of `limits.ts` is reached
   */
  renderBytes(data: unknown): Buffer;
  /** The output as text; what is no UTF-8 becomes U+FFFD. @throws TemplateError as renderBytes */
  render(data: unknown): string;
}

/**
 * Reads a template. Unlike Go's html/template nothing is escaped, and a missing value prints nothing.
 * @throws TemplateError naming the line, or the function that is unknown or refused
 */
export function compileTemplate(source: string): Template {
  const tree = parseTemplate(source, functionFault);
  const run = (data: unknown): string => {
    try {
      return executeTemplate(tree, valueOf(data), functions, new Budget()).replaceAll('<no value>', '');
    } catch (error) {
      // A policy's author can nest data or calls as deep as the stack goes.
      if (error instanceof RangeError) throw new TemplateError('it is nested too deep', { cause: error });
      throw error;
    }
  };
  return { renderBytes: (data) => Buffer.from(run(data), 'latin1'), render: (data) => textOf(run(data)) };
}
