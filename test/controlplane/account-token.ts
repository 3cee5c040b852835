// Tokens of ServiceAccounts of a real API server.
import type { Member } from './fixture-types.ts';

/** A new token of a ServiceAccount. @param spec of the TokenRequest: for how long, and for which audiences */
export async function accountToken(
  member: Member,
  namespace: string,
  name: string,
  spec: object = {},
): Promise<string> {
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`;
  const request = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec };
  const answer = await member.request('POST', path, request);
  if (answer.status !== 201) throw new Error(`${path}: ${answer.status} ${answer.body}`);
  return (JSON.parse(answer.body) as { status: { token: string } }).status.token;
}
