// Compares our rendering of templates with Go's.
import { compileTemplate, TemplateError } from '../../../import/template/template.ts';
import type { TemplateCase } from './grammar.ts';
import type { GoRendering } from './oracle.ts';

/** What we made of a template. */
export interface OurRendering {
  readonly failed: 'parse' | 'execute' | '';
  readonly message: string;
  readonly output: Buffer;
}

/** Renders a case here. @throws whatever is no TemplateError */
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

/** A sentence about the difference, or undefined. The two that README.md of the templates names are none. */
export function difference(ours: OurRendering, go: GoRendering): string | undefined {
  // We have one type of whole numbers where Go has int and int64.
  if (/expected int; got int64/.test(go.message)) return undefined;
  if (ours.failed !== go.failed)
    return `we ${stage(ours)} (${ours.message}), Go ${stage(go)} (${go.message.slice(0, 200)})`;
  const [our, their] = [ours, go].map(({ output }) => output.toString('latin1').replaceAll(/\bint=/g, 'int64='));
  return our === their ? undefined : `we print ${JSON.stringify(our)}, Go ${JSON.stringify(their)}`;
}

function stage({ failed }: { readonly failed: string }): string {
  return failed === '' ? 'succeed' : `fail to ${failed}`;
}
