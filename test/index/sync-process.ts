// A process that follows members into a store until it is killed, for tests of what a death leaves behind. It must have
// written something before it is killed, so it says when every type is watched.
import { memberSpec, startSyncSite } from './sync-site.ts';

/** What the one argument holds, as JSON. */
export interface SyncProcessOptions {
  readonly directory: string;
  readonly resources: readonly string[];
  readonly members: readonly {
    readonly name: string;
    readonly url: string;
    readonly caPem: string;
    readonly token: string;
  }[];
}

const { directory, resources, members } = JSON.parse(process.argv[2] ?? '{}') as SyncProcessOptions;
const specs = members.map((member) => memberSpec(member.name, member, member.token));
const site = await startSyncSite({ directory, specs, resources, timing: { positionEveryMs: 500 } });
const isFollowing = (): boolean =>
  site.sync.state().every(({ types }) => types.length > 0 && types.every(({ phase }) => phase === 'watching'));
setInterval(() => {
  if (isFollowing()) process.stdout.write('following\n');
}, 50);
