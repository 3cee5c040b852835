// Reads the parameters of `indexes/whocan` and `indexes/whatcan`. An empty parameter such as `name=` means "none": a
// request without a name, or outside of namespaces. An absent parameter means "any".
import { splitAccountName } from '../../../auth/callers/reserved.ts';
import { urlParameters } from '../../../query/parameters.ts';
import { bad } from '../../../query/parameters.ts';
import type { Parameters } from '../../../query/parameters.ts';
import { labelMatcher } from '../../../query/selectors/label-matcher.ts';
import type { AccessQuestion, AskedClusters } from '../../../rights/access/who-can.ts';
import type { WhatCanQuestion, WhoCanQuestion } from '../../api/question.ts';
import type { IndexRequest } from '../../request/request.ts';

const ofRequests = ['timeout', 'pretty', 'clusters', 'clusterSelector'];
const ofWhoCan = ['verb', 'group', 'resource', 'subresource', 'name', 'namespace', 'path', 'mayBecome', ...ofRequests];
const ofWhatCan = ['user', 'groups', ...ofRequests];

/**
 * Reads a request for who may do something.
 * @throws GatewayError BAD_REQUEST for missing, contradictory or unknown parameters
 */
export function readWhoCan(request: IndexRequest): WhoCanQuestion {
  request.form(['']);
  const parameters = urlParameters(request.query.slice(1));
  refuseOthers(parameters, ofWhoCan);
  const mayBecome = parameters.flag('mayBecome') === true;
  return { kind: 'whocan', access: readAccess(parameters), mayBecome, ...readClusters(parameters) };
}

/**
 * Reads a request for what a user may do; without the parameter `user`, it is about the caller.
 * @throws GatewayError BAD_REQUEST
 */
export function readWhatCan(request: IndexRequest): WhatCanQuestion {
  request.form(['']);
  const parameters = urlParameters(request.query.slice(1));
  refuseOthers(parameters, ofWhatCan);
  const clusters = readClusters(parameters);
  const groups = parameters.all('groups');
  const name = parameters.text('user');
  if (name === undefined) {
    if (groups.length > 0) throw bad('groups= needs user=: rights are those of a user, with the groups that are given');
    return { kind: 'whatcan', subject: undefined, hasUnknownGroups: false, ...clusters };
  }
  // A ServiceAccount's groups follow from its name. The groups of other users are known only to whoever issues their
  // credentials.
  const hasUnknownGroups = !parameters.names.includes('groups') && splitAccountName(name) === undefined;
  return { kind: 'whatcan', subject: { name, groups }, hasUnknownGroups, ...clusters };
}

/** Security: the first of two selectors would be about other clusters than the caller meant. */
function readClusters(parameters: Parameters): AskedClusters {
  const selectors = parameters.withEmpty('clusterSelector');
  if (selectors.length > 1) throw bad('clusterSelector= is given more than once');
  return { clusters: parameters.list('clusters'), clusterSelector: labelMatcher(selectors[0] ?? '') };
}

function readAccess(parameters: Parameters): AccessQuestion {
  const verb = parameters.text('verb');
  if (verb === undefined) throw bad('verb= is missing, such as get, list, create or delete');
  const path = parameters.text('path');
  const resource = parameters.text('resource');
  if (path !== undefined) {
    if (resource !== undefined) throw bad('path= and resource= exclude each other');
    if (!path.startsWith('/')) throw bad('path= begins with a slash, as in /healthz');
    return { verb, path };
  }
  if (resource === undefined) throw bad('resource= is missing, such as pods; or path=, such as /healthz');
  if (resource.includes('/')) throw bad('resource= has a slash: a subresource is given as subresource=');
  const given = (name: string): string | undefined =>
    parameters.names.includes(name) ? (parameters.text(name) ?? '') : undefined;
  const subresource = parameters.text('subresource') ?? '';
  return {
    verb,
    group: parameters.text('group') ?? '',
    resource,
    subresource,
    name: given('name'),
    namespace: given('namespace'),
  };
}

/** Refuses unknown parameters: a misspelt condition that was ignored would change what the answer means. */
function refuseOthers({ names }: Parameters, known: readonly string[]): void {
  const other = names.find((name) => !known.includes(name));
  if (other !== undefined)
    throw bad(`there is no parameter ${JSON.stringify(other.slice(0, 60))}; there are ${known.join(', ')}`);
}
