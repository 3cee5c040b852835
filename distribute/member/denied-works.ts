// Notices when an executor, the identity that writes the objects of a ManifestWork, may have got a right that it
// lacked. While a ManifestWork waits for a right, the member is asked every few seconds for the executor's rules
// (SelfSubjectRulesReview), and the work is tried again when they change. While no work waits, the member is not asked.
import type { Executor } from './executor-identity.ts';

export interface DeniedWorksOptions {
  /**
   * Returns the rules that the member has for the executor in a namespace, as a text that changes when the rules do.
   */
  readonly rulesOf: (executor: Executor, namespace: string) => Promise<string>;
  /** Called with the name of a ManifestWork when the rules that it waits for have changed. */
  readonly onChange: (work: string) => void;
  /** Milliseconds from the end of one round of requests to the next round; tests set a shorter time. */
  readonly everyMs?: number;
}

interface Waiting {
  readonly executor: Executor;
  readonly namespaces: ReadonlySet<string>;
}

const defaultEveryMs = 3_000;
/**
 * The namespace of the request for cluster-scoped objects. Any would do: the answer always includes the rules of
 * ClusterRoleBindings.
 */
const anyNamespace = 'default';

export class DeniedWorks {
  readonly #options: DeniedWorksOptions;
  readonly #waiting = new Map<string, Waiting>();
  /** The rules in the last answer of the member, by executor and namespace. */
  #rules = new Map<string, string>();
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(options: DeniedWorksOptions) {
    this.#options = options;
  }

  /**
   * Records the namespaces in which the executor of a ManifestWork lacks a right. If there are none, the work does not
   * wait any more.
   */
  note(work: string, executor: Executor, namespaces: ReadonlySet<string>): void {
    if (namespaces.size === 0) {
      this.forget(work);
      return;
    }
    this.#waiting.set(work, { executor, namespaces });
    this.#schedule();
  }

  forget(work: string): void {
    this.#waiting.delete(work);
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
    this.#waiting.clear();
  }

  #schedule(): void {
    if (this.#closed || this.#timer !== undefined || this.#waiting.size === 0) return;
    const { everyMs = defaultEveryMs } = this.#options;
    this.#timer = setTimeout(() => void this.#round(), everyMs).unref();
  }

  /** Sends one request after the other, so that the member never has to answer several at once. */
  async #round(): Promise<void> {
    const asked = new Map<string, string | undefined>();
    for (const { executor, namespaces } of [...this.#waiting.values()])
      for (const namespace of namespaces) {
        const key = keyOf(executor, namespace);
        if (!asked.has(key)) asked.set(key, await this.#ask(executor, namespace));
      }
    const before = this.#rules;
    this.#rules = new Map();
    for (const [key, rules] of asked) {
      const kept = rules ?? before.get(key);
      if (kept !== undefined) this.#rules.set(key, kept);
    }
    // The first answer is treated as a change: the right may have been granted between the member's refusal and this
    // answer.
    const isChanged = (key: string): boolean => {
      const now = asked.get(key);
      return now !== undefined && now !== before.get(key);
    };
    for (const [work, { executor, namespaces }] of [...this.#waiting])
      if ([...namespaces].some((namespace) => isChanged(keyOf(executor, namespace)))) this.#options.onChange(work);
    this.#timer = undefined;
    this.#schedule();
  }

  /** Returns the rules; undefined when the member does not answer now. */
  async #ask(executor: Executor, namespace: string): Promise<string | undefined> {
    return await this.#options.rulesOf(executor, namespace === '' ? anyNamespace : namespace).catch(() => undefined);
  }
}

function keyOf({ key }: Executor, namespace: string): string {
  return `${key} ${namespace}`;
}
