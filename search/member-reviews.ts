// Asks clusters about rights, over the same connections as requests. Easy to get wrong: a SubjectAccessReview asks
// about somebody else, so it goes out with the gateway's own credential. Only the SelfSubjectRulesReview, which tells
// whether RBAC is the only authorizer, impersonates: it asks as `portcullis:index`, unless `identity` is `self`.
import { jsonIn } from '../lib/json/exact-json.ts';
import { fieldOf, isJsonObject } from '../lib/objects/json-object.ts';
import { GatewayError } from '../model/errors.ts';
import type { ClusterRecord } from '../model/records.ts';
import type { User } from '../model/user.ts';
import { callMember, readWhole } from '../routing/members/member-call.ts';
import { locate } from '../routing/members/target.ts';
import type { Connections } from '../routing/members/target.ts';
import type { MemberReviews } from '../rights/review.ts';
import { indexUser } from '../sync/ask-member.ts';
import type { IndexIdentity } from '../sync/index-identity.ts';

const path = '/apis/authorization.k8s.io/v1/';
const timeoutMs = 10_000;
const maxAnswerBytes = 4 * 1024 * 1024;

/**
 * Makes the functions that ask clusters about rights.
 * @param identity `self`: never impersonate; `auto`: impersonate where the gateway's credential may
 */
export function makeMemberReviews(connections: Connections, identity: IndexIdentity): MemberReviews {
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
      const ask = (who: User | 'self'): Promise<ReviewStatus> =>
        post(connections, record, who, 'selfsubjectrulesreviews', review);
      const { incomplete } =
        identity === 'self'
          ? await ask('self')
          : await ask(indexUser).catch((error: unknown) => {
              // Which authorizers a cluster has does not depend on who asks, so the gateway's own credential will do.
              if (identity === 'auto' && error instanceof ReviewForbidden) return ask('self');
              throw error;
            });
      // Only `false` means that RBAC is the only authorizer. When the field is missing, there may be others.
      return incomplete !== false;
    },
  };
}

/** The cluster answered 403: this identity may not ask, or may not be impersonated. */
class ReviewForbidden extends GatewayError {}

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
    const Refusal = answer.status === 403 ? ReviewForbidden : GatewayError;
    const message = `cluster "${cluster}" answered a ${resource} request with ${answer.status}`;
    throw new Refusal('MEMBER_BAD_RESPONSE', message, { cluster });
  }
  const status = fieldOf(jsonIn(body), 'status');
  if (isJsonObject(status)) return status;
  throw new GatewayError(
    'MEMBER_BAD_RESPONSE',
    `cluster "${cluster}" answered a ${resource} request without a status`,
    {
      cluster,
    },
  );
}
