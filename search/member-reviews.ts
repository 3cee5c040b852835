// What members are asked about rights, over the connections that requests use. Easy to get wrong: a review is about somebody else and goes out with the
// gateway's own credential; only the question whether rules are complete impersonates, and then a name of the gateway's own.
import { GatewayError } from '../cache/errors.ts';
import type { ClusterRecord } from '../cache/records.ts';
import type { User } from '../cache/user.ts';
import { callMember, readWhole } from '../routing/member-call.ts';
import { locate } from '../routing/target.ts';
import type { Connections } from '../routing/target.ts';
import type { MemberReviews } from './rights/review.ts';
import { indexUser } from './sync/ask-member.ts';

const path = '/apis/authorization.k8s.io/v1/';
const timeoutMs = 10_000;
const maxAnswerBytes = 4 * 1024 * 1024;

/** Makes them. @param identity `self` where the gateway runs with the person's own credentials: then nothing is impersonated */
export function makeMemberReviews(connections: Connections, identity: 'impersonate' | 'self'): MemberReviews {
  return {
    async isAllowed(record, spec) {
      const review = { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', spec };
      const { allowed, denied } = await post(connections, record, 'self', 'subjectaccessreviews', review);
      return allowed === true && denied !== true;
    },
    async isIncomplete(record) {
      const review = {
        apiVersion: 'authorization.k8s.io/v1',
        kind: 'SelfSubjectRulesReview',
        spec: { namespace: 'default' },
      };
      const who = identity === 'self' ? 'self' : indexUser;
      const { incomplete } = await post(connections, record, who, 'selfsubjectrulesreviews', review);
      // Whoever does not say so has not said that RBAC is all there is.
      return incomplete !== false;
    },
  };
}

interface ReviewStatus {
  readonly allowed?: unknown;
  readonly denied?: unknown;
  readonly incomplete?: unknown;
}

async function post(
  connections: Connections,
  record: ClusterRecord,
  identity: User | 'self',
  resource: string,
  review: object,
): Promise<ReviewStatus> {
  const target = await locate(record.spec.name, () => record, connections);
  const answer = await callMember(target, {
    identity,
    method: 'POST',
    path: path + resource,
    headers: ['Accept', 'application/json', 'Content-Type', 'application/json', 'User-Agent', 'portcullis-index'],
    body: Buffer.from(JSON.stringify(review)),
    timeoutMs,
    wholeTimeoutMs: timeoutMs,
    longRunning: false,
  });
  const body = await readWhole(answer, maxAnswerBytes);
  const cluster = record.spec.name;
  if (answer.status !== 201 && answer.status !== 200) {
    throw new GatewayError(
      'MEMBER_BAD_RESPONSE',
      `cluster "${cluster}" answered a ${resource} request with ${answer.status}`,
      {
        cluster,
      },
    );
  }
  try {
    const { status } = JSON.parse(body.toString('utf8')) as { readonly status?: ReviewStatus };
    if (typeof status === 'object' && status !== null) return status;
  } catch {
    // Told below with what is missing.
  }
  throw new GatewayError(
    'MEMBER_BAD_RESPONSE',
    `cluster "${cluster}" answered a ${resource} request without a status`,
    {
      cluster,
    },
  );
}
