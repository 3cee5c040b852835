// One-time logins of the demo's users: each link logs in once, within ten minutes. The first try of a link, in time or
// too late, prints the user's next link; further tries print nothing, so that an old link is worth nothing. Links lead
// only to the demo's simulated clusters.
import { randomBytes } from 'node:crypto';

export interface DemoUserToken {
  readonly name: string;
  readonly token: string;
}

export interface DemoLogins {
  /** Returns a new code, with which the user can log in once within ten minutes. */
  issue(user: DemoUserToken): string;
  /**
   * Returns the token of the user for whom the code was issued; undefined for a code that was used, is too old, or was
   * never issued.
   */
  redeem(code: string): string | undefined;
}

const lifeMs = 600_000;

/**
 * @param onSpent called with the user at the first try of each code, good or too old, so that the caller can issue the
 * user's next code
 */
export function makeDemoLogins(onSpent: (user: DemoUserToken) => void, now: () => number = Date.now): DemoLogins {
  const codes = new Map<string, { readonly user: DemoUserToken; readonly endsMs: number }>();
  return {
    issue(user) {
      const code = randomBytes(24).toString('base64url');
      codes.set(code, { user, endsMs: now() + lifeMs });
      return code;
    },
    redeem(code) {
      const found = codes.get(code);
      if (found === undefined) return undefined;
      codes.delete(code);
      onSpent(found.user);
      return now() < found.endsMs ? found.user.token : undefined;
    },
  };
}
