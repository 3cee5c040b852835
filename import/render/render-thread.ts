// The thread in which templates of policies are rendered, and what they print is read: one message is a template with
// its data, one answer what it gives.
import { parentPort } from 'node:worker_threads';

import { makeRecent } from '../../lib/recent.ts';
import { compileTemplate, TemplateError, TemplateTooDear, type Template } from '../template/template.ts';
import { readPediaClusterBody, UnreadableBody, type PediaClusterBody } from './pedia-cluster-body.ts';

/** A template to render, and what to make of what it prints. */
export interface RenderJob {
  readonly template: string;
  /** A value as JSON.parse returns it. */
  readonly data: unknown;
  readonly as: 'parsed' | 'text' | 'PediaCluster';
}

/** What a template gives, or the name and message of the error. */
export type Rendered =
  | { readonly value: string | PediaClusterBody }
  | { readonly error: 'TemplateError' | 'TemplateTooDear' | 'UnreadableBody'; readonly message: string };

/** Parsed templates by their text. The templates of a policy are rendered for many objects, one after the other. */
const compiled = makeRecent<Template>({ maxEntries: 100 });

function render({ template: text, data, as }: RenderJob): Rendered {
  try {
    const template = compiled.get(text) ?? compileTemplate(text);
    compiled.set(text, template);
    if (as === 'PediaCluster') return { value: readPediaClusterBody(template.renderParts(data)) };
    return { value: as === 'text' ? template.render(data) : '' };
  } catch (error) {
    if (error instanceof TemplateTooDear) return { error: 'TemplateTooDear', message: error.message };
    if (error instanceof TemplateError) return { error: 'TemplateError', message: error.message };
    if (error instanceof UnreadableBody) return { error: 'UnreadableBody', message: error.message };
    throw error;
  }
}

parentPort!.on('message', (job: RenderJob) => parentPort!.postMessage(render(job), []));
parentPort!.postMessage('ready', []);
