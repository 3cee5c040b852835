// Answers reviews about identity and permissions: SelfSubjectReview, the access reviews, TokenReview and TokenRequest.
// Reviews are answered with 201, and nothing is stored. A SelfSubjectReview returns the impersonated user, not the
// caller.
import { createHash } from 'node:crypto';
import { attributesOf, rulesFor } from '../access/authorize.ts';
import { readKind } from '../call/body.ts';
import { sendObject } from '../call/answer.ts';
import type { Call } from '../call/cluster.ts';
import type { Resource } from '../store/resources.ts';
import { badRequest, invalid, notFound } from '../model/status-error.ts';
import { timestamp, type JsonObject, type KubeObject, type SimUser } from '../model/types.ts';

/** Answers POST to a review resource. */
export async function createReview(call: Call, resource: Resource): Promise<void> {
  const body = await readKind(call, resource);
  const answer = reviews[resource.plural];
  if (answer === undefined) throw badRequest(`no such review: ${resource.plural}`);
  await sendObject(call, 201, { ...body, ...answer(call, body) });
}

const reviews: Readonly<Record<string, (call: Call, body: KubeObject) => JsonObject>> = {
  selfsubjectreviews: (call) => ({
    metadata: { creationTimestamp: timestamp(call.cluster.now()) },
    status: { userInfo: userInfo(call.user) },
  }),
  selfsubjectaccessreviews: (call, body) => ({ status: accessStatus(call, call.user, body['spec'] ?? {}) }),
  subjectaccessreviews: (call, body) => ({
    status: accessStatus(call, subjectOf(body['spec'] ?? {}), body['spec'] ?? {}),
  }),
  localsubjectaccessreviews(call, body) {
    const namespace: unknown = body['spec']?.resourceAttributes?.namespace;
    if (namespace !== call.info.namespace)
      throw badRequest('spec.resourceAttributes.namespace must match metadata.namespace');
    return { status: accessStatus(call, subjectOf(body['spec'] ?? {}), body['spec'] ?? {}) };
  },
  selfsubjectrulesreviews: (call, body) => ({ spec: {}, status: rulesStatus(call, body['spec']?.namespace ?? '') }),
  tokenreviews(call, body) {
    const token: unknown = body['spec']?.token;
    if (typeof token !== 'string' || token === '') throw badRequest('spec.token: Required value');
    const user = call.cluster.lookupToken(token);
    if (user === undefined) return { status: { user: {}, error: 'invalid bearer token' } };
    const groups = [...user.groups, 'system:authenticated'];
    return { status: { authenticated: true, user: userInfo({ ...user, groups: [...new Set(groups)] }) } };
  },
};

function userInfo(user: SimUser): JsonObject {
  return {
    username: user.name,
    ...(user.uid === undefined || user.uid === '' ? {} : { uid: user.uid }),
    groups: user.groups,
    ...(user.extra === undefined ? {} : { extra: user.extra }),
  };
}

function subjectOf(spec: JsonObject): SimUser {
  const user: string = spec['user'] ?? '';
  if (user === '' && (spec['groups'] ?? []).length === 0)
    throw badRequest('spec.user: Invalid value: "": at least one of user or group must be specified');
  return { name: user, groups: spec['groups'] ?? [], uid: spec['uid'] ?? '', extra: spec['extra'] ?? {} };
}

function accessStatus(call: Call, user: SimUser, spec: JsonObject): JsonObject {
  const asked: JsonObject | undefined = spec['resourceAttributes'];
  const path: JsonObject | undefined = spec['nonResourceAttributes'];
  if ((asked === undefined) === (path === undefined)) {
    const message = 'Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified';
    const fault = { reason: 'FieldValueInvalid', message, field: 'spec.resourceAttributes' };
    throw invalid({ group: 'authorization.k8s.io', kind: '' }, '', [fault]);
  }
  const { verb = '', ...about } = asked ?? path ?? {};
  const attributes = attributesOf(user, verb, path === undefined ? about : { path: path['path'] ?? '' });
  const { isAllowed, reason } = call.cluster.authorize(attributes);
  return { allowed: isAllowed, ...(reason === '' ? {} : { reason }) };
}

function pick(object: JsonObject, fields: readonly string[]): JsonObject {
  return Object.fromEntries(
    fields.filter((field) => object[field] !== undefined).map((field) => [field, object[field]]),
  );
}

function rulesStatus(call: Call, namespace: string): JsonObject {
  if (namespace === '') throw badRequest('no namespace on request');
  const all = { verbs: ['*'], apiGroups: ['*'], resources: ['*'] };
  const isMaster = call.user.groups.includes('system:masters');
  const { rules, errors } = isMaster
    ? { rules: [all, { verbs: ['*'], nonResourceURLs: ['*'] }] as JsonObject[], errors: [] }
    : rulesFor(call.cluster.store, call.user, namespace);
  return {
    resourceRules: rules
      .filter((rule) => (rule['resources'] ?? []).length > 0)
      .map((rule) => pick(rule, ['verbs', 'apiGroups', 'resources', 'resourceNames'])),
    nonResourceRules: rules
      .filter((rule) => (rule['nonResourceURLs'] ?? []).length > 0)
      .map((rule) => pick(rule, ['verbs', 'nonResourceURLs'])),
    incomplete: false,
    ...(errors.length === 0 ? {} : { evaluationError: errors.join(', ') }),
  };
}

/** Answers POST to serviceaccounts/token (TokenRequest). */
export async function createToken(call: Call): Promise<void> {
  const { cluster, info } = call;
  const body = await readKind(call, { group: 'authentication.k8s.io', version: 'v1', kind: 'TokenRequest' });
  const account = cluster.store.get('/serviceaccounts', info.namespace, info.name);
  if (account === undefined) throw notFound({ group: '', plural: 'serviceaccounts' }, info.name);
  const seconds: number = body['spec']?.expirationSeconds ?? 3600;
  if (seconds < 600)
    throw badRequest('spec.expirationSeconds: Invalid value: may not specify a duration less than 10 minutes');
  const token = cluster.issueToken(serviceAccountUser(info.namespace, info.name, account.metadata.uid));
  const expirationTimestamp = timestamp(new Date(cluster.now().getTime() + seconds * 1000));
  const audiences = body['spec']?.audiences ?? ['https://kubernetes.default.svc'];
  await sendObject(call, 201, {
    ...body,
    metadata: {
      ...body.metadata,
      name: info.name,
      namespace: info.namespace,
      creationTimestamp: timestamp(cluster.now()),
    },
    spec: { audiences, expirationSeconds: seconds, boundObjectRef: body['spec']?.boundObjectRef ?? null },
    status: { token, expirationTimestamp },
  });
}

/** The user that a ServiceAccount's token authenticates as. */
function serviceAccountUser(namespace: string, name: string, uid: string): SimUser {
  return {
    name: `system:serviceaccount:${namespace}:${name}`,
    uid,
    groups: ['system:serviceaccounts', `system:serviceaccounts:${namespace}`],
    extra: {
      'authentication.kubernetes.io/credential-id': [
        `JTI=${createHash('sha256').update(uid).digest('hex').slice(0, 32)}`,
      ],
    },
  };
}
