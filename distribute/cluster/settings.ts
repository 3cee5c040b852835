// Settings that are the same for all clusters whose ManifestWorks are executed.
import type { ObjectWriter } from '../../kube/objects/object-writer.ts';
import type { HubMark } from '../inventory/applied-works.ts';
import type { RuleEvaluator } from '../feedback/rule-evaluator.ts';
import type { DefaultExecutor } from '../member/executor-identity.ts';
import type { Authors } from '../stamp/authors.ts';
import type { Work } from '../work/work.ts';
import type { RightParts } from './executor-right.ts';

/** What the gateway's operator configured about the execution of ManifestWorks. */
export interface ExecutionRules {
  /** The identity that writes the objects of ManifestWorks whose `spec.executor` is absent. */
  readonly defaultExecutor: DefaultExecutor;
  /**
   * What happens to an object that is to be deleted when its executor has lost the right to do so. True: the object
   * stays until the executor has the right again. False: the gateway deletes it with its own credential.
   */
  readonly holdOnDenied: boolean;
  /** Whether feedback values that are objects or lists are written into the ManifestWork's status as JSON text. */
  readonly rawJson: boolean;
  /** How many executed specs of a ManifestWork are kept in the annotation with its history; with 0, none are. */
  readonly historyLimit: number;
  /**
   * For how many milliseconds an AppliedManifestWork is kept after its ManifestWork is missing on the hub; Infinity:
   * for ever.
   */
  readonly evictionGraceMs: number;
}

export interface WorkSettings extends HubMark, ExecutionRules, RightParts {
  readonly authors: Pick<Authors, 'of' | 'isReading'> | undefined;
  readonly ruleEvaluator: RuleEvaluator;
  readonly writer: ObjectWriter;
  /** Returns the ManifestWork as the hub has it now; undefined when there is none. */
  readonly work: (namespace: string, name: string) => Work | undefined;
}
