// Answers get and list of objects made from cluster records: as objects, as Tables or as metadata only. Easy to get
// wrong: a list and its resourceVersion must be read from the store without an await in between. Otherwise a watch from
// that resourceVersion misses events.
import { GatewayError } from '../../model/errors.ts';
import type { ClusterRecord } from '../../model/records.ts';
import type { ClusterReader } from '../../model/store.ts';
import { acceptedForm } from '../../request/answer/accept.ts';
import type { AcceptedForm } from '../../request/answer/accept.ts';
import { groupVersionOf } from '../../request/api-groups.ts';
import type { ServedGroup, ServedPlural } from '../../request/api-groups.ts';
import type { Authorized } from '../../request/exchange.ts';
import { queryValue } from '../../request/request-info.ts';
import { labelMatcher } from '../../query/selectors/label-matcher.ts';
import type { Labels } from '../../query/selectors/label-matcher.ts';
import { nameMatcher } from '../fanout/members/selectors.ts';
import { jsonResponse } from '../../request/answer/status.ts';
import type { CompleteResponse } from '../../request/answer/status.ts';

/** One object as callers see it, for example a `Cluster`. Security: no part of it may hold a secret. */
export interface ServedObject {
  readonly name: string;
  readonly labels: Labels;
  readonly resourceVersion: string;
  /** Seconds since 1970, used to sort lists; 0 when the time of creation is not known. */
  readonly createdAt: number;
  metadata(): object;
  /** The whole object, with apiVersion and kind. */
  whole(): object;
  /**
   * Table cells in the order of {@link ServedResource.columns}. `nowMs` is the present time in milliseconds since 1970;
   * ages are computed from it.
   */
  cells(nowMs: number): readonly unknown[];
}

/** One resource whose objects are made from cluster records, for example `clusters` or `virtualclusters`. */
export interface ServedResource {
  readonly group: ServedGroup;
  readonly plural: ServedPlural;
  readonly kind: string;
  readonly columns: readonly object[];
  /** Turns a cluster record into an object of this resource; undefined when the resource does not show the cluster. */
  of(record: ClusterRecord): ServedObject | undefined;
  /** Objects that do not come from a cluster record, for example the hub itself as `local`. */
  readonly fixed: readonly ServedObject[];
  /** Compares two objects for the order of lists; when undefined, lists are sorted by name. */
  readonly compare?: (a: ServedObject, b: ServedObject) => number;
  /**
   * True when the objects show results of the gateway's health probe. When false, a new result of the probe causes no
   * watch event.
   */
  readonly showsProbe: boolean;
}

export const metaGroup = 'meta.k8s.io/v1';

/**
 * Answers GET of one object (`name`) or of the list (`name` undefined).
 * @throws GatewayError with the code for 400, 404, 405, 406 or 410
 */
export function answerResource(
  state: Authorized,
  resource: ServedResource,
  store: ClusterReader,
  name: string | undefined,
): CompleteResponse {
  if (state.inbound.method !== 'GET' && state.inbound.method !== 'HEAD') throw readOnly(resource);
  const form = acceptedForm(state.headers, ['Table', '', 'PartialObjectMetadata', 'PartialObjectMetadataList']).as;
  if (name !== undefined) return objectResponse(state, resource, existing(resource, store, name), form);
  checkListVersion(state.target.query, store);
  const { resourceVersion } = store;
  const objects = listed(resource, store).filter(objectMatcher(state.target.query));
  if (form === 'Table') {
    return jsonResponse(tableOf(resource, objects, resourceVersion, state.target.query), state.auditId);
  }
  const metadata = { resourceVersion };
  const list =
    form === ''
      ? { apiVersion: groupVersionOf(resource.group), kind: `${resource.kind}List` }
      : { apiVersion: metaGroup, kind: 'PartialObjectMetadataList' };
  const items = objects.map((object) => (form === '' ? object.whole() : partialOf(object)));
  return jsonResponse({ ...list, metadata, items }, state.auditId);
}

/** Answers with one object: whole, as a Table, or as PartialObjectMetadata. */
export function objectResponse(
  state: Authorized,
  resource: ServedResource,
  object: ServedObject,
  form: AcceptedForm['as'],
): CompleteResponse {
  if (form === 'Table') {
    return jsonResponse(tableOf(resource, [object], object.resourceVersion, state.target.query), state.auditId);
  }
  return jsonResponse(form === '' ? object.whole() : partialOf(object), state.auditId);
}

/**
 * The object called `name`.
 * @throws GatewayError NOT_FOUND when there is none
 */
export function existing(resource: ServedResource, store: ClusterReader, name: string): ServedObject {
  const fixed = resource.fixed.find((object) => object.name === name);
  if (fixed !== undefined) return fixed;
  const record = store.get(name);
  const object = record === undefined ? undefined : resource.of(record);
  if (object === undefined) throw absent(resource, name);
  return object;
}

/** The error "not found", with the message kube-apiserver gives. It is returned, not thrown. */
export function absent({ plural, group }: ServedResource, name: string): GatewayError {
  return new GatewayError('NOT_FOUND', `${plural}.${group} "${name}" not found`, { kind: plural, group, name });
}

function readOnly({ plural, group }: ServedResource): GatewayError {
  return new GatewayError(
    'METHOD_NOT_ALLOWED',
    `${plural} are read-only here: the gateway makes them from its sources of clusters; change them there`,
    { kind: plural, group },
  );
}

/** All objects of the resource, sorted as lists show them. */
export function listed(resource: ServedResource, store: ClusterReader): readonly ServedObject[] {
  const objects: ServedObject[] = [...resource.fixed];
  for (const record of store.list()) {
    const object = resource.of(record);
    // When a cluster has the same name as a fixed object, only the fixed object is listed.
    if (object !== undefined && !resource.fixed.some(({ name }) => name === object.name)) objects.push(object);
  }
  return resource.compare === undefined ? objects : objects.sort(resource.compare);
}

/**
 * A test for the label and field selectors in a query string.
 * @throws GatewayError BAD_REQUEST for a selector that cannot be read
 */
export function objectMatcher(query: string): (object: ServedObject) => boolean {
  const labels = labelMatcher(queryValue(query, 'labelSelector') ?? '');
  const names = nameMatcher(queryValue(query, 'fieldSelector') ?? '');
  return (object) => (labels === undefined || labels(object.labels)) && names(object.name);
}

/**
 * Checks the resourceVersion and continue token of a list request. A list always shows the present state, so neither
 * changes the result. A client that sends a newer resourceVersion than this process has is told to list again.
 * @throws GatewayError EXPIRED for a resourceVersion that is not available, BAD_REQUEST for one that cannot be parsed
 */
function checkListVersion(query: string, store: ClusterReader): void {
  if ((queryValue(query, 'continue') ?? '') !== '') {
    throw new GatewayError('EXPIRED', 'the continue token was not issued by this server; list again without it');
  }
  const wanted = queryValue(query, 'resourceVersion') ?? '';
  if (wanted === '' || wanted === '0') return;
  const exact = queryValue(query, 'resourceVersionMatch') === 'Exact';
  const expired = store.eventsSince(wanted) === 'expired' && Number(wanted) > Number(store.resourceVersion);
  if (expired || (exact && wanted !== store.resourceVersion)) {
    throw new GatewayError(
      'EXPIRED',
      `the resource version ${wanted} is not available here; list again without a resourceVersion`,
    );
  }
}

export function partialOf(object: ServedObject): object {
  return { apiVersion: metaGroup, kind: 'PartialObjectMetadata', metadata: object.metadata() };
}

/**
 * Makes a Table of the objects.
 * @param withColumns false leaves out the column definitions: in a watch only the first Table has them
 */
export function tableOf(
  resource: ServedResource,
  objects: readonly ServedObject[],
  resourceVersion: string,
  query: string,
  withColumns = true,
): object {
  const include = queryValue(query, 'includeObject') ?? 'Metadata';
  const nowMs = Date.now();
  return {
    kind: 'Table',
    apiVersion: metaGroup,
    metadata: { resourceVersion },
    columnDefinitions: withColumns ? resource.columns : null,
    rows: objects.map((object) => ({
      cells: object.cells(nowMs),
      ...(include === 'None' ? {} : { object: include === 'Object' ? object.whole() : partialOf(object) }),
    })),
  };
}

/** One column definition of a Table. A column with a priority above 0 appears only with `-o wide`. */
export function column(name: string, type: string, priority: number, description: string, format = ''): object {
  return { name, type, format, description, priority };
}
