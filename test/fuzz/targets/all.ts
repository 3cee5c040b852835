// Every fuzz target. The shares must add up to a million, which is what `npm run fuzz` promises.
import type { FuzzTarget, Input } from '../target.ts';
import { fileTargets } from './files.ts';
import { http1Targets } from './http1.ts';
import { http2Targets } from './http2.ts';
import { responseTarget } from './member.ts';
import { strangerTarget } from './stranger.ts';
import { upstreamTarget } from './upstream.ts';

/** What shares are of. */
export const wholeShare = 1_000_000;

export const targets: readonly FuzzTarget[] = [
  ...http1Targets,
  strangerTarget,
  upstreamTarget,
  responseTarget,
  ...http2Targets,
  ...fileTargets,
] as readonly FuzzTarget<Input & string>[] as unknown as readonly FuzzTarget[];
