// Credentials of exec plugins as a worker has them. Plugins run in the first process only, and a worker remembers what
// it was sent. A credential that a member refused must not be sent again by any worker, so the first process makes all
// of them forget it.
import type { Credential, CredentialSource } from '../../cache/model/records.ts';

/** The sources of one worker. */
export interface ReplicaCredentials {
  /** The source with that number; the same object as long as somebody holds it. */
  of(id: number): CredentialSource;
  /** Forgets the credential of that number. */
  forget(id: number): void;
}

/** What they depend on. */
export interface ReplicaCredentialsOptions {
  /** Asks the first process. @throws GatewayError (rejects) MEMBER_CREDENTIAL as the source itself would */
  readonly ask: (id: number) => Promise<Credential>;
  /** Reports to the first process that a member refused it. */
  readonly sendRefused: (id: number) => void;
  /** Unix milliseconds. */
  readonly now?: () => number;
}

/** After this time the first process is asked again, as it may have a new credential. The old one serves meanwhile. */
const confirmAfterMs = 1_000;

interface Held {
  readonly credential: Credential;
  readonly receivedAtMs: number;
}

/** Makes the sources of one worker. */
export function makeReplicaCredentials(options: ReplicaCredentialsOptions): ReplicaCredentials {
  const all = new Map<number, WeakRef<AskedSource>>();
  const gone = new FinalizationRegistry((id: number) => {
    if (all.get(id)?.deref() === undefined) all.delete(id);
  });
  return {
    of(id) {
      let source = all.get(id)?.deref();
      if (source === undefined) {
        source = makeSource(id, options);
        all.set(id, new WeakRef(source));
        gone.register(source, id);
      }
      return source;
    },
    forget: (id) => all.get(id)?.deref()?.forget(),
  };
}

type AskedSource = CredentialSource & { forget(): void };

function makeSource(id: number, { ask, sendRefused, now = Date.now }: ReplicaCredentialsOptions): AskedSource {
  let held: Held | undefined;
  let asking: Promise<Credential> | undefined;
  const start = (): Promise<Credential> => {
    if (asking !== undefined) return asking;
    const answer = ask(id).then((credential) => {
      // After forget() an answer that was asked for before may be the refused credential: it is returned, but not kept.
      if (asking === answer) held = { credential, receivedAtMs: performance.now() };
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
      const { credential, receivedAtMs } = held ?? {};
      if (credential === undefined || now() >= (credential.expiresAtMs ?? Infinity)) return start();
      // The held credential is returned meanwhile. If the question fails, the first call after the expiry fails.
      if (performance.now() - receivedAtMs! >= confirmAfterMs) void start().catch(() => undefined);
      return credential;
    },
    invalidate() {
      forget();
      sendRefused(id);
    },
    forget,
  });
}
