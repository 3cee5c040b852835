// Settings that are the same for all clusters whose works are executed.
import type { HubObject } from '../../cache/hub/hub-types.ts';
import type { HubWriter } from '../../controllers/hub/hub-writer.ts';
import type { HubMark } from '../inventory/applied-works.ts';
import type { DefaultExecutor } from '../member/executor-identity.ts';

/** What the gateway's operator configured about the execution of works. */
export interface ExecutionRules {
  /** The identity that writes the objects of works that name no executor. */
  readonly defaultExecutor: DefaultExecutor;
  /**
   * If true, an object whose executor lost the right to delete it stays until the right is back; if false, the gateway
   * deletes it with its own credential.
   */
  readonly holdOnDenied: boolean;
  /** Whether values that are objects or lists are fed back to the hub as JSON text. */
  readonly rawJson: boolean;
  /** How many milliseconds an AppliedManifestWork is kept whose work is missing on the hub; Infinity: for ever. */
  readonly evictionGraceMs: number;
}

export interface WorkSettings extends HubMark, ExecutionRules {
  readonly writer: HubWriter;
  /** Returns the work as the hub has it now; undefined when there is none. */
  readonly work: (namespace: string, name: string) => HubObject | undefined;
  /**
   * Returns the reason why the hub's own rules do not allow the work to be executed as the ServiceAccount that it
   * names; undefined when they do.
   */
  readonly executorFault: (work: HubObject) => Promise<string | undefined>;
}
