// Renders the templates of policies outside the event loop that serves requests. Whoever may create policies writes
// them, and whoever may create source objects writes their data.
import { extname } from 'node:path';

import { BoundExceeded, makeBoundedWorker } from '../../lib/bounded-worker.ts';
import { TemplateError, TemplateTooDear } from '../template/template.ts';
import { UnreadableBody, type PediaClusterBody } from './pedia-cluster-body.ts';
import type { RenderJob, Rendered } from './render-thread.ts';

/** Renders templates with data. When templates of several policies wait, the policies take turns. */
export interface TemplateRenderer {
  /**
   * Renders a template to text.
   * @param policy name of the ClusterImportPolicy
   * @param data a value as JSON.parse returns it
   * @throws TemplateError (rejects) where Go's engine fails; TemplateTooDear when it takes too much
   */
  render(policy: string, template: string, data: unknown): Promise<string>;
  /** Parses a template. @throws TemplateError (rejects) where Go's parser fails */
  check(policy: string, template: string): Promise<void>;
  /** Renders the template of a PediaCluster. @throws UnreadableBody (rejects), and as render does */
  renderPediaCluster(policy: string, template: string, data: unknown): Promise<PediaClusterBody>;
  close(): void;
}

/**
 * Milliseconds after which the thread is ended. Rendering ends by itself after 200 ms; the rest of the time is for
 * reading the output, and for a busy machine.
 */
const deadlineMs = 1_000;
const memoryMegabytes = 256;

/** Starts no thread before the first template. */
export function makeTemplateRenderer(): TemplateRenderer {
  const worker = makeBoundedWorker<RenderJob, Rendered>({
    module: new URL(`./render-thread${extname(import.meta.url)}`, import.meta.url),
    deadlineMs,
    memoryMegabytes,
  });
  const run = async (policy: string, job: RenderJob): Promise<string | PediaClusterBody> => {
    const rendered = await worker.run(policy, job).catch((error: unknown): never => {
      if (error instanceof BoundExceeded) throw new TemplateTooDear(`it ${error.message}`);
      throw error;
    });
    if ('value' in rendered) return rendered.value;
    if (rendered.error === 'UnreadableBody') throw new UnreadableBody(rendered.message);
    if (rendered.error === 'TemplateTooDear') throw new TemplateTooDear(rendered.message);
    throw new TemplateError(rendered.message);
  };
  return {
    check: async (policy, template) => void (await run(policy, { template, data: undefined, as: 'parsed' })),
    render: async (policy, template, data) => (await run(policy, { template, data, as: 'text' })) as string,
    renderPediaCluster: async (policy, template, data) =>
      (await run(policy, { template, data, as: 'PediaCluster' })) as PediaClusterBody,
    close: () => worker.close(),
  };
}
