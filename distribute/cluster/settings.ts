// What is the same for all clusters whose works are executed.
import type { HubObject } from '../../cache/hub/hub-types.ts';
import type { HubWriter } from '../../controllers/hub/hub-writer.ts';
import type { HubMark } from '../inventory/applied-works.ts';
import type { DefaultExecutor } from '../member/executor-identity.ts';

/** How works are executed, as the operator chose. */
export interface ExecutionRules {
  /** As whom works without an executor are written. */
  readonly defaultExecutor: DefaultExecutor;
  /** Objects whose executor has lost the right to delete them wait for it. */
  readonly holdOnDenied: boolean;
  /** Feeds objects and lists back as JSON text. */
  readonly rawJson: boolean;
  /** How long an AppliedManifestWork without its work is kept, in milliseconds; Infinity: for ever. */
  readonly evictionGraceMs: number;
}

export interface WorkSettings extends HubMark, ExecutionRules {
  readonly writer: HubWriter;
  /** The present work; undefined when there is none. */
  readonly work: (namespace: string, name: string) => HubObject | undefined;
  /**
   * Why the work may not be executed as the ServiceAccount that it names, by the hub's own rules; undefined when it
   * may.
   */
  readonly executorFault: (work: HubObject) => Promise<string | undefined>;
}
