// Answers `POST /apis/authentication.k8s.io/v1/selfsubjectreviews`: the user that the gateway has authenticated. To
// learn which user a cluster sees, clients send the same request below that cluster's path.
import type { User } from '../model/user.ts';
import { acceptedForm } from '../request/answer/accept.ts';
import { readBody } from '../request/answer/request-body.ts';
import type { Authorized } from '../request/exchange.ts';
import { GatewayError } from '../model/errors.ts';
import { jsonResponse } from '../request/answer/status.ts';
import type { CompleteResponse } from '../request/answer/status.ts';

/**
 * Maximum bytes of the body of a SelfSubjectReview request; more is refused with TOO_LARGE. The body is read but not
 * used, so it may have any format.
 */
const maxBodyBytes = 64 * 1024;

/**
 * Answers with a SelfSubjectReview of the caller, or of the user whom the caller impersonates.
 * @throws GatewayError (rejects) METHOD_NOT_ALLOWED, NOT_ACCEPTABLE or TOO_LARGE
 */
export async function answerSelfReview(state: Authorized): Promise<CompleteResponse> {
  if (state.inbound.method !== 'POST') {
    throw new GatewayError('METHOD_NOT_ALLOWED', 'a SelfSubjectReview can only be created');
  }
  acceptedForm(state.headers, ['']);
  await readBody(state.inbound, maxBodyBytes);
  const review = {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'SelfSubjectReview',
    metadata: { creationTimestamp: null },
    status: { userInfo: userInfo(state.user) },
  };
  return { ...jsonResponse(review, state.auditId), status: 201 };
}

function userInfo({ name, uid, groups, extra }: User): object {
  return {
    username: name,
    ...(uid !== '' && { uid }),
    ...(groups.length > 0 && { groups }),
    // Security: fromEntries defines keys, so that `__proto__` is a key like any other.
    ...(extra.length > 0 && { extra: Object.fromEntries(extra) }),
  };
}
