// What must hold of a case: every request a member got is one that was judged, sent as whom it was judged for, and read
// by Go as what was judged. A member's requests and the questions are matched by what they say, not by their order,
// which HTTP/2 does not keep.
import type { Attributes } from '../../../auth/rules/attributes.ts';
import type { Connection } from '../connection.ts';
import type { GoRequest, Verdict } from '../oracle.ts';
import { intendedUser, witness, witnessRequests } from './case.ts';
import type { RequestCase } from './case.ts';
import type { Answer, Http1Outcome } from './play-http1.ts';
import type { Http2Outcome } from './play-http2.ts';
import type { Recorded, RequestSite } from './site.ts';

/** Everything that is known of a case. */
export interface Played {
  readonly sent: RequestCase;
  readonly outcome: Http1Outcome | Http2Outcome;
  readonly record: Recorded;
  /** Status of the witness' request behind it, and as whom the member answered that. */
  readonly witnessed: string;
  /** Go's reading of each segment, in order; undefined without Go. */
  readonly verdicts: readonly Verdict[] | undefined;
}

/** A sentence about the first thing that does not hold, or undefined. */
export function faultOf(played: Played, site: RequestSite): string | undefined {
  const { record, witnessed, outcome } = played;
  if (record.errors.length > 0) return `the gateway logged an error: ${record.errors[0]!.slice(0, 600)}`;
  if (witnessed !== `200 ${witness.name}`) return `a request of somebody else behind it was answered with ${witnessed}`;
  return upstreamFault(played, site) ?? ('read' in outcome ? http1Fault(played, outcome) : http2Fault(played, outcome));
}

function upstreamFault({ record, verdicts, sent }: Played, { members }: RequestSite): string | undefined {
  let requests = 0;
  for (const [index, segment] of record.segments.entries()) {
    if (segment.early > 0) return 'bytes of the client went upstream before the member had switched protocols';
    requests += segment.requests;
    const verdict = verdicts?.[index];
    if (verdict === undefined) continue;
    if (verdict.requests.length !== segment.requests)
      return `Go reads ${verdict.requests.length} requests where ${segment.requests} were sent: ${verdict.refusal ?? ''}`;
    for (const request of verdict.requests) {
      const fault = requestFault(request, segment.cluster, record, sent, members[segment.cluster]!);
      if (fault !== undefined) return `${fault}; the member read ${request.method} ${request.target.slice(0, 300)}`;
    }
  }
  if (requests > record.identities.length)
    return `${requests} requests went upstream, and ${record.identities.length} were let through`;
  return undefined;
}

const forbiddenHeader = /^(?:x[-_.]remote|cookie|proxy-|x-forwarded-(?!for$)|forwarded$|x-real-ip|te$|trailer$)/i;

function requestFault(
  request: GoRequest,
  cluster: string,
  record: Recorded,
  sent: RequestCase,
  member: { readonly host: string; readonly authorization: string },
): string | undefined {
  const { user, headers } = request;
  if (user.refusal !== undefined) return `an API server refuses the identity: ${user.refusal}`;
  if (user.name === 'the credential itself' || user.name === '') return 'a request went out without an identity';
  if (request.host !== member.host) return `Host is ${JSON.stringify(request.host)}`;
  if (JSON.stringify(headers['Authorization']) !== JSON.stringify([member.authorization]))
    return `Authorization is ${JSON.stringify(headers['Authorization'])}`;
  for (const [name, values] of Object.entries(headers)) {
    if (forbiddenHeader.test(name)) return `the header ${name} went out`;
    if (
      // What a client itself writes into a header that is passed on is the client's own affair.
      !/^(?:Authorization|Impersonate-|Accept|User-Agent)/.test(name) &&
      values.some((value) => /base64url\.bearer\.authorization\.k8s\.io\./i.test(value))
    )
      return `a credential went out in ${name}`;
  }
  const asked = record.questions.filter((one) => one.verb !== 'impersonate' && one.cluster?.name === cluster);
  if (asked.length === 0) return 'a request went out that nobody was asked about';
  const differences = asked.map((one) => userDifference(one, request) ?? differenceOf(one, request, namesEvery(sent)));
  if (!differences.includes(undefined)) {
    // Of somebody else's question every difference is about the user.
    const telling = differences.find((text) => !text!.startsWith(userText)) ?? differences[0]!;
    return `what was judged is not what the member reads: ${telling}`;
  }
  return sentFault(request, sent);
}

const everyCluster = /clusters\/(?:\*|%2A)\/proxy/i;

function namesEvery(sent: RequestCase): boolean {
  if (sent.protocol === '1') return everyCluster.test(sent.bytes);
  return sent.steps.some(
    (step) => step.kind === 'headers' && step.fields.some(({ value }) => everyCluster.test(value)),
  );
}

/** Path and query of a client's request to one cluster are among its bytes. */
function sentFault({ target, headers }: GoRequest, sent: RequestCase): string | undefined {
  if (headers['Impersonate-User']?.[0] === witness.name) return undefined;
  // Behind `/proxy` there may be a query at once.
  if (namesEvery(sent)) return undefined;
  const wanted = target.startsWith('/?') ? target.slice(1) : target;
  if (sent.protocol === '1') {
    return wanted === '/' || sent.bytes.includes(wanted) ? undefined : 'its path and query are none the client sent';
  }
  const paths = sent.steps.flatMap((step) => (step.kind === 'headers' ? step.fields : []));
  const isRaw = sent.steps.some((step) => step.kind === 'frame');
  const holds = paths.some(({ value }) => value.includes(wanted));
  return wanted === '/' || isRaw || holds ? undefined : 'its path and query are none the client sent';
}

/** In the words of docs/reference/fuzzing.md. */
function differenceOf(asked: Attributes, request: GoRequest, isFanOut: boolean): string | undefined {
  const { info } = request;
  if (info.error !== undefined) return `Go finds no request info: ${info.error}`;
  if (asked.resourceRequest !== info.isResource) return differ('isResource', asked.resourceRequest, info.isResource);
  const verb = bytesOf(asked.verb);
  if (verb !== info.verb && !isListed(verb, request, isFanOut)) return differ('verb', verb, info.verb);
  if (!info.isResource) {
    return bytesOf(asked.path) === request.path ? undefined : differ('path', bytesOf(asked.path), request.path);
  }
  for (const field of ['apiGroup', 'apiVersion', 'namespace', 'resource', 'subresource'] as const) {
    if (bytesOf(asked[field]) !== info[field]) return differ(field, bytesOf(asked[field]), info[field]);
  }
  const name = bytesOf(asked.name);
  // Without the name that a selector pins more is asked for than was meant: listed.
  const leftOut = name === '' && (info.verb === 'list' || info.verb === 'watch');
  return name === info.name || leftOut ? undefined : differ('name', name, info.name);
}

function differ(what: string, ours: unknown, go: unknown): string {
  return `${what} is ${JSON.stringify(ours)} to us and ${JSON.stringify(go)} to Go`;
}

/**
 * Whether our verb may be another one than Go's: an upgrade that starts something in a container is `create`, and a
 * watch over all clusters begins with a list.
 */
function isListed(verb: string, { headers, info }: GoRequest, isFanOut: boolean): boolean {
  if (isFanOut && verb === 'watch') return info.verb === 'list';
  if (isFanOut && verb === 'head') return info.verb === 'get';
  const startsSomething =
    ['exec', 'attach', 'portforward'].includes(info.subresource) ||
    (info.resource === 'nodes' && info.subresource === 'proxy');
  return headers['Upgrade'] !== undefined && verb === 'create' && startsSomething;
}

const userText = 'the user is';

function userDifference({ user: asked }: Attributes, { user }: GoRequest): string | undefined {
  const ours = [
    bytesOf(asked.name),
    bytesOf(asked.uid),
    asked.groups.map(bytesOf).toSorted(),
    asked.extra.map(([key, values]) => [bytesOf(key), values.map(bytesOf)]).toSorted(),
  ];
  const go = [user.name, user.uid, [...user.groups].toSorted(), Object.entries(user.extra).toSorted()];
  const [one, other] = [JSON.stringify(ours), JSON.stringify(go)];
  return one === other ? undefined : `${userText} ${one} to us and ${other} to the member`;
}

function bytesOf(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1');
}

function http1Fault({ record, sent: played }: Played, { read, answers, late, rest }: Http1Outcome): string | undefined {
  const due = read.requests.length;
  // A watch over all clusters goes on: only its head has come, and nothing behind it is due.
  const next = read.requests[answers.length]?.target ?? '';
  const goesOn = late && namesEvery(played) && next.includes('watch') && rest.startsWith('HTTP/1.1 200 ');
  if (late && !goesOn) return `${answers.length} of ${due} answers came, then nothing: ${quoted(rest)}`;
  if (!goesOn && due > 0 && answers.length === 0) return `no answer, the connection was closed: ${quoted(rest)}`;
  if (!goesOn && answers.length < due && answers.at(-1)!.last !== true && answers.at(-1)!.status !== 101)
    return `${answers.length} of ${due} answers came before the connection was closed`;
  const fault = answersFault(played, read, answers);
  if (fault !== undefined) return fault;
  const sent = record.identities.length - witnessRequests;
  // Of one that was not sent whole, the head may have been let through.
  const begun = due + (read.ending === 'complete' ? 0 : 1);
  if (sent > begun && !namesEvery(played)) return `${sent} requests were let through, and ${due} were sent`;
  return undefined;
}

function answersFault(played: RequestCase, read: Connection, answers: readonly Answer[]): string | undefined {
  // HTTP/1.0 is served only for health, version and discovery.
  const mayRefuseVersion = played.protocol === '1' && / HTTP\/1\.0\r?\n/.test(played.bytes);
  for (const [index, answer] of answers.entries()) {
    const request = read.requests[index];
    // Of what was refused it is not known whether the answer has a body.
    if (request === undefined && answer.bodyless) continue;
    const fault = answerFault(answer, request?.target ?? '', mayRefuseVersion);
    if (fault !== undefined) return fault;
    if (request === undefined) continue;
    const intended = intendedUser(request.headers);
    const echoed = echoOf(answer.body);
    if (echoed !== undefined && echoed !== intended)
      return `answer ${index} is for ${JSON.stringify(echoed)}, and ${JSON.stringify(intended)} asked`;
  }
  return undefined;
}

function http2Fault({ sent }: Played, { streams, late, unreadable, over }: Http2Outcome): string | undefined {
  if (unreadable) return 'an answer could not be read';
  // A watch over all clusters goes on.
  if (late && !over && !namesEvery(sent)) return 'a stream that was sent whole was not answered';
  if (sent.protocol !== '2') return undefined;
  for (const [id, { status, contentType, body, ended }] of streams) {
    if (!ended) continue;
    const first = sent.steps.find((step) => step.kind === 'headers' && step.stream === id);
    const fields = first?.kind === 'headers' ? first.fields : [];
    const value = (name: string): string => fields.find((field) => field.name === name)?.value ?? '';
    const fault = answerFault(
      { status, contentType, body, last: false, bodyless: value(':method') === 'HEAD' },
      value(':path'),
      false,
    );
    if (fault !== undefined) return fault;
    const echoed = echoOf(body);
    const intended = intendedUser(fields.flatMap((field) => [field.name, field.value]));
    const isRaw = sent.steps.some((step) => step.kind === 'frame');
    if (echoed !== undefined && echoed !== intended && !isRaw)
      return `the answer on stream ${id} is for ${JSON.stringify(echoed)}, and ${JSON.stringify(intended)} asked`;
  }
  return undefined;
}

/** Whatever is refused is a Status, but for health, whose answers are text. */
function answerFault(
  { status, contentType, body, bodyless }: Answer,
  target: string,
  mayRefuseVersion: boolean,
): string | undefined {
  if (!(status >= 200 && status < 600) && status !== 101) return `the status is ${status}`;
  if (status >= 500 && status !== 503 && !(status === 505 && mayRefuseVersion))
    return `the status is ${status}: ${body.slice(0, 300)}`;
  if (status < 400 || bodyless || /^\/(?:livez|readyz|healthz)/.test(target)) return undefined;
  try {
    const { kind, apiVersion, code } = JSON.parse(body) as { kind?: string; apiVersion?: string; code?: number };
    if (kind === 'Status' && apiVersion === 'v1' && code === status && contentType.startsWith('application/json'))
      return undefined;
  } catch {
    // Said below.
  }
  return `an answer with ${status} is no Status: ${contentType} ${body.slice(0, 200)}`;
}

function quoted(text: string): string {
  return JSON.stringify(text.slice(0, 200));
}

/** Whom the member saw, of an answer the member gave. */
function echoOf(body: string): string | undefined {
  if (!body.startsWith('{"echo":true')) return undefined;
  return (JSON.parse(Buffer.from(body, 'latin1').toString()) as { user: string }).user;
}
