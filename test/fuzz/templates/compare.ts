// Compares this project's rendering of templates with Go's.
import { compileTemplate, TemplateError } from '../../../import/template/template.ts';
import type { TemplateCase } from './grammar.ts';
import type { GoRendering } from './oracle.ts';

/** The result of rendering a template with this project's code. */
export interface OurRendering {
  readonly failed: 'parse' | 'execute' | '';
  readonly message: string;
  readonly output: Buffer;
}

/** Renders a template with this project's code. @throws any error that is not a TemplateError */
export function renderHere({ template, data }: TemplateCase): OurRendering {
  let failed: OurRendering['failed'] = 'parse';
  try {
    const compiled = compileTemplate(template);
    failed = 'execute';
    return { failed: '', message: '', output: compiled.renderBytes(data) };
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    return { failed, message: error.message, output: Buffer.alloc(0) };
  }
}

/**
 * A sentence about the difference; undefined when there is none. The two differences named in the templates' README.md
 * are ignored.
 */
export function difference(ours: OurRendering, go: GoRendering): string | undefined {
  // Go has int and int64; here there is only one type of whole numbers.
  if (/expected int; got int64/.test(go.message)) return undefined;
  if (ours.failed !== go.failed)
    return `we ${stage(ours)} (${ours.message}), Go ${stage(go)} (${go.message.slice(0, 200)})`;
  const [our, their] = [ours, go].map(({ output }) => typesAsOurs(output.toString('latin1')));
  return our === their ? undefined : `we print ${JSON.stringify(our)}, Go ${JSON.stringify(their)}`;
}

function stage({ failed }: { readonly failed: string }): string {
  return failed === '' ? 'succeed' : `fail to ${failed}`;
}

/** printf names the types of what it cannot print; Go has more of them than we do. */
function typesAsOurs(text: string): string {
  return text
    .replaceAll(/\bint=/g, 'int64=')
    .replaceAll('[]string=', '[]interface {}=')
    .replaceAll('map[string]string=', 'map[string]interface {}=');
}
