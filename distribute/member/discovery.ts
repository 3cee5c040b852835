// Finds out which kinds a member serves.
import { makeRestMapper, type RestMapper } from '../../kube/discovery/rest-mapper.ts';
import { jsonOf } from './member-objects.ts';
import type { MemberClient } from './member-client.ts';

const timeoutMs = 15_000;

/**
 * Makes the mapper of one member's kinds. Its methods throw GatewayError or MemberRefusal when the member's discovery
 * cannot be read.
 */
export function memberMapper(client: Pick<MemberClient, 'request'>): RestMapper {
  return makeRestMapper(async (path) => {
    const { status, body } = await client.request({ method: 'GET', path, timeoutMs });
    if (status === 404) return undefined;
    if (status !== 200) throw new Error(`discovery (${path}) was answered with ${status}`);
    return jsonOf(body);
  });
}
