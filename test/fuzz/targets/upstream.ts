// The header list towards a member and the head it becomes: whoever the user is and whatever the client sent, the
// member sees that user alone. Half of the users go around makeUser, because headers.ts must hold on its own.
import * as fc from 'fast-check';
import { GatewayError } from '../../../model/errors.ts';
import { HttpFault } from '../../../http/http-fault.ts';
import { makeUser } from '../../../model/user.ts';
import type { User } from '../../../model/user.ts';
import { escapeExtraKey, upstreamHeaders } from '../../../routing/forward/headers.ts';
import { requestHead } from '../../../routing/http1/request-head.ts';
import { readConnection } from '../connection.ts';
import { oddTexts } from '../mutations.ts';
import { must, refusalOf } from '../target.ts';
import type { Claim, FuzzTarget } from '../target.ts';

interface Sent {
  readonly [key: string]: string | boolean | readonly string[];
  readonly name: string;
  readonly uid: string;
  readonly groups: readonly string[];
  /** Key, value, key, value. */
  readonly extra: readonly string[];
  /** Name, value, name, value, as the client sent them. */
  readonly inbound: readonly string[];
  readonly authorization: string;
  readonly upgrade: boolean;
  /** The user comes from makeUser. */
  readonly checked: boolean;
}

const identityWords = [
  'alice',
  'system:masters',
  'system:admin',
  'a,b',
  'a: b',
  'Impersonate-User: root',
  '%',
  '%0a',
  '%C3%A9',
  'ö',
  'A',
];
const names = [
  'Accept',
  'accept',
  'Impersonate-User',
  'impersonate-user',
  'Impersonate_User',
  'IMPERSONATE-GROUP',
  'Impersonate-Extra-a',
  'Impersonate-Uid',
  'X-Remote-User',
  'X-Remote-Group',
  'X_Remote_User',
  'Authorization',
  'Proxy-Authorization',
  'Cookie',
  'Host',
  'Connection',
  'Content-Length',
  'Transfer-Encoding',
  'Upgrade',
  'TE',
  'User-Agent',
  'Content-Type',
  'X-Forwarded-For',
  'Audit-ID',
  'Sec-WebSocket-Protocol',
  'Sec-WebSocket-Key',
  'Traceparent',
  'X-Custom',
  'Keep-Alive',
  'Accept-Encoding',
];
const values = [
  'a',
  '',
  'close, Impersonate-User',
  'base64url.bearer.authorization.k8s.io.Zm9v',
  'v4.channel.k8s.io, base64url.bearer.authorization.k8s.io.Zm9v',
  'chunked',
  '5',
  'gzip',
  '\xe9',
  'root',
];

export const upstreamTarget: FuzzTarget<Sent> = {
  name: 'upstream-headers',
  share: 90_000,
  slowMs: 40,
  arbitrary(corpus) {
    const text = oddTexts(identityWords);
    const one = fc.record({
      name: text,
      uid: text,
      groups: fc.array(text, { maxLength: 3 }),
      extra: fc.array(fc.tuple(text, text), { maxLength: 2 }).map((pairs) => pairs.flat()),
      inbound: fc
        .array(fc.nat(0xffff), { maxLength: 6 })
        .map((picks) => picks.flatMap((pick) => [names[pick % names.length]!, values[(pick >> 6) % values.length]!])),
      authorization: fc.constantFrom('Bearer gateway', 'Basic Zm9vOmJhcg=='),
      upgrade: fc.boolean(),
      checked: fc.boolean(),
    });
    return corpus.length === 0 ? one : fc.oneof({ weight: 20, arbitrary: one }, fc.constantFrom(...corpus));
  },
  check: checkSent,
};

const isOwn = (error: unknown): boolean => error instanceof GatewayError || error instanceof HttpFault;

function checkSent(sent: Sent): Claim | undefined {
  const made = refusalOf(() => userOf(sent), isOwn);
  if ('refused' in made) return undefined;
  const user = made.value;
  const parts = {
    inbound: sent.inbound,
    host: 'member:6443',
    credential: { authorization: sent.authorization, clientCertificate: undefined, expiresAtMs: undefined },
    peerAddress: '192.0.2.1',
    auditId: 'audit',
    upgrade: sent.upgrade,
  };
  const built = refusalOf(() => upstreamHeaders(parts, user), isOwn);
  if ('refused' in built) return undefined;
  const headers = built.value;
  checkIdentity(headers, user, sent.authorization);
  const request = { method: 'GET', target: '/api', headers, body: 'none' as const, longRunning: false };
  const head = refusalOf(() => requestHead(request), isOwn);
  if ('refused' in head) return undefined;
  const bytes = Buffer.from(head.value, 'latin1');
  const read = readConnection(bytes);
  must(read.requests.length === 1 && read.ending === 'complete', 'the head is not one request');
  must(
    JSON.stringify(read.requests[0]!.headers) === JSON.stringify(headers),
    'the head does not say what the list says',
  );
  return { bytes, read };
}

function userOf({ name, uid, groups, extra, checked }: Sent): User {
  const pairs: [string, readonly string[]][] = [];
  for (let i = 0; i + 1 < extra.length; i += 2) pairs.push([extra[i]!, [extra[i + 1]!]]);
  if (checked) return makeUser({ name, uid, groups, extra: pairs });
  return Object.freeze({
    name,
    uid,
    groups,
    extra: pairs.map(([key, one]) => [key.toLowerCase(), one] as const),
    origin: 'hub' as const,
  });
}

/**
 * Exactly the user's own identity, in bytes, and the gateway's own credential; nothing the client sent about either.
 */
function checkIdentity(headers: readonly string[], user: User, authorization: string): void {
  const wire = (text: string): string => Buffer.from(text, 'utf8').toString('latin1');
  const wanted = [
    ['impersonate-user', wire(user.name)],
    ...user.groups.map((group) => ['impersonate-group', wire(group)]),
    ...(user.uid === '' ? [] : [['impersonate-uid', wire(user.uid)]]),
    ...user.extra.flatMap(([key, all]) =>
      all.map((value) => [`impersonate-extra-${escapeExtraKey(key).toLowerCase()}`, wire(value)]),
    ),
  ];
  must(user.name !== '', 'a user without a name went out');
  const found: string[][] = [];
  let hosts = 0;
  let credentials = 0;
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i]!.toLowerCase().replaceAll('_', '-');
    const value = headers[i + 1]!;
    must(!/[\r\n\0]/.test(value), 'a line end went out');
    if (name.startsWith('impersonate-')) found.push([headers[i]!.toLowerCase(), value]);
    else if (name === 'authorization') {
      credentials++;
      must(value === authorization, 'somebody else’s credential went out');
    } else if (name === 'host') hosts++;
    else
      must(
        !/^(?:x-remote-|cookie$|proxy-|connection$|upgrade$|te$|transfer-encoding$|content-length$)/.test(name),
        `${name} went out`,
      );
    must(name !== 'sec-websocket-protocol' || !/base64url\.bearer/i.test(value), 'a bearer subprotocol went out');
  }
  must(hosts === 1 && credentials === 1, 'not one Host and one credential');
  must(JSON.stringify(found) === JSON.stringify(wanted), 'the identity that goes out is another one');
}
