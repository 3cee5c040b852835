// Credentials of exec plugins as a worker has them: plugins run in the first process only, one run whoever asks, and a
// worker remembers what it was told. Easy to get wrong: what a member has refused must not be sent again by any worker,
// so the first process tells all of them to forget it.
import type { Credential, CredentialSource } from '../../cache/model/records.ts';

/** The sources of one worker. */
export interface ReplicaCredentials {
  /** The source with that number, the same as long as it is not forgotten by everybody. */
  of(id: number): CredentialSource;
  /** What was told of that number no longer holds. */
  forget(id: number): void;
}

/** What they depend on. */
export interface ReplicaCredentialsOptions {
  /** Asks the first process. @throws GatewayError (rejects) MEMBER_CREDENTIAL as the source itself would */
  readonly ask: (id: number) => Promise<Credential>;
  /** Tells the first process that a member refused it. */
  readonly tellRefused: (id: number) => void;
  /** Unix milliseconds. */
  readonly now?: () => number;
}

/** After this the first process is asked anew, while the old one still serves: it may have renewed it. */
const confirmAfterMs = 1_000;

interface Held {
  readonly credential: Credential;
  readonly toldAtMs: number;
}

/** Makes the sources of one worker. */
export function makeReplicaCredentials({
  ask,
  tellRefused,
  now = Date.now,
}: ReplicaCredentialsOptions): ReplicaCredentials {
  const all = new Map<number, WeakRef<CredentialSource & { forget(): void }>>();
  const gone = new FinalizationRegistry((id: number) => {
    if (all.get(id)?.deref() === undefined) all.delete(id);
  });

  const make = (id: number): CredentialSource & { forget(): void } => {
    let held: Held | undefined;
    let asking: Promise<Credential> | undefined;
    const start = (): Promise<Credential> => {
      if (asking !== undefined) return asking;
      const answer = ask(id).then((credential) => {
        // Asked before it was to be forgotten, it may be the very one: good for whoever waits for it, not for keeping.
        if (asking === answer) held = { credential, toldAtMs: performance.now() };
        return credential;
      });
      asking = answer;
      const over = (): void => {
        if (asking === answer) asking = undefined;
      };
      answer.then(over, over);
      return answer;
    };
    const forget = (): void => {
      held = undefined;
      asking = undefined;
    };
    return Object.freeze({
      kind: 'exec' as const,
      current() {
        const { credential, toldAtMs } = held ?? {};
        if (credential === undefined || now() >= (credential.expiresAtMs ?? Infinity)) return start();
        // Nobody waits for this one; if it fails, whoever comes after the expiry hears of it.
        if (performance.now() - toldAtMs! >= confirmAfterMs) void start().catch(() => undefined);
        return credential;
      },
      invalidate() {
        forget();
        tellRefused(id);
      },
      forget,
    });
  };

  return {
    of(id) {
      let source = all.get(id)?.deref();
      if (source === undefined) {
        source = make(id);
        all.set(id, new WeakRef(source));
        gone.register(source, id);
      }
      return source;
    },
    forget: (id) => all.get(id)?.deref()?.forget(),
  };
}
