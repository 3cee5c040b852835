// Go's text/template with those functions of sprig that use nothing but their arguments: the language of the templates
// in Clusterpedia's policies. See README.md beside this file.
import { executeTemplate, type Part } from './execute.ts';
import { functionFault, functions } from './function-table.ts';
import { Budget } from './values/limits.ts';
import { parseTemplate } from './parser.ts';
import { TemplateError } from './values/template-error.ts';
import { textOf, valueOf } from './values/values.ts';

export type { Part } from './execute.ts';
export { TemplateError, TemplateTooDear } from './values/template-error.ts';

/** A parsed template. */
export interface Template {
  /**
   * Renders the template to bytes. The bytes need not be UTF-8, because a template can decode a Secret.
   * @param data a value as JSON.parse returns it; it is not changed
   * @throws TemplateError where Go's engine fails, or when a limit in `values/limits.ts` is exceeded
   */
  renderBytes(data: unknown): Buffer;
  /** Renders the template to text. Bytes that are not UTF-8 become U+FFFD. @throws TemplateError as renderBytes does */
  render(data: unknown): string;
  /**
   * Renders the template as render does, and tells its own text from what its actions printed. What an action printed
   * is one part, and no part is empty. @throws TemplateError as renderBytes does
   */
  renderParts(data: unknown): readonly Part[];
}

/**
 * Parses a template. As in text/template, and unlike html/template, nothing is escaped, and a missing value prints
 * nothing.
 * @throws TemplateError with the line of the mistake, or the function that is unknown or refused
 */
export function compileTemplate(source: string): Template {
  const tree = parseTemplate(source, functionFault);
  const run = (data: unknown): readonly Part[] => {
    try {
      return executeTemplate(tree, valueOf(data), functions, new Budget());
    } catch (error) {
      // The stack overflows (RangeError) when a ClusterImportPolicy nests data or calls deep enough.
      if (error instanceof RangeError) throw new TemplateError('it is nested too deep', { cause: error });
      throw error;
    }
  };
  const joined = (data: unknown): string =>
    withoutNoValue(
      run(data)
        .map(({ text }) => text)
        .join(''),
    );
  return {
    renderBytes: (data) => Buffer.from(joined(data), 'latin1'),
    render: (data) => textOf(joined(data)),
    renderParts: (data) =>
      run(data)
        .map(({ text, isValue }) => ({ text: textOf(withoutNoValue(text)), isValue }))
        .filter(({ text }) => text !== ''),
  };
}

/** Removes what Go prints for a missing value. Clusterpedia removes it from every output. */
function withoutNoValue(text: string): string {
  return text.replaceAll('<no value>', '');
}
