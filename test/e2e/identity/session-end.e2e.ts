// What people at a terminal see when their session ends before its time: kubectl prints the reason, for a watch and for
// exec over WebSocket. A session that merely breaks off looks like a network fault and is tried again.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { after, before, it } from 'node:test';

import { tokenLine } from '../../gateway-process.ts';
import { eventually } from '../../site/polling.ts';
import { startStreamSite } from '../streams/stream-site.ts';
import type { StreamSite } from '../streams/stream-site.ts';

let site: StreamSite;
before(async () => {
  site = await startStreamSite();
});
after(() => site?.stop());

/** Longer than two reviews of open streams. */
const timeoutMs = 90_000;

it('when a token is taken away, kubectl exec over WebSocket and kubectl get --watch end and say why', async () => {
  // A program that reads: a kube-apiserver that translates WebSocket for the kubelet lets any other run on when its
  // client is gone.
  const env = { KUBECTL_REMOTE_COMMAND_WEBSOCKETS: 'true' };
  const exec = site.through.start(['exec', '-i', 'box', '--', 'sh', '-c', 'echo ready; cat'], { env });
  const watch = site.through.start(['get', 'pods', '--watch']);
  await Promise.all([exec.until(/ready/), watch.until(/box/)]);
  writeFileSync(site.gateway.tokenFile, `${tokenLine({ token: 'another', name: 'dave' })}\n`);
  for (const { child } of [exec, watch]) {
    await eventually('kubectl ends by itself', () => child.exitCode !== null, { timeoutMs });
  }
  const [session, list] = [await exec.finish(), await watch.finish()];
  assert.equal(session.code, 1);
  assert.match(session.stderr, /^error: Unauthorized: .*bearer token/);
  assert.match(list.stdout + list.stderr, /Failure.*Unauthorized.*bearer token/, JSON.stringify(list));
  await eventually('the member has no session left', async () => (await site.open('exec')) === 0);
});
