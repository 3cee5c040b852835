// Get and list of every kind of object made from cluster records: as objects, as Tables or as metadata only. A list and
// its resourceVersion come from one synchronous read of the store, or a watch from that version would miss an event.
import { GatewayError } from '../../../cache/model/errors.ts';
import type { ClusterRecord } from '../../../cache/model/records.ts';
import type { ClusterReader } from '../../../cache/model/store.ts';
import { acceptedForm } from '../accept.ts';
import type { AcceptedForm } from '../accept.ts';
import { groupVersionOf } from '../discovery/api-groups.ts';
import type { ServedGroup, ServedPlural } from '../discovery/api-groups.ts';
import type { Authorized } from '../../exchange.ts';
import { queryValue } from '../../request/request-info.ts';
import { labelMatcher, nameMatcher } from './selectors.ts';
import type { Labels } from './selectors.ts';
import { jsonResponse } from '../../status.ts';
import type { CompleteResponse } from '../../status.ts';

/** One object as it is served. No part of it may hold a secret. */
export interface ServedObject {
  readonly name: string;
  readonly labels: Labels;
  readonly resourceVersion: string;
  /** Seconds since 1970 for the order of lists; 0 when there is no time of creation. */
  readonly createdAt: number;
  metadata(): object;
  /** With apiVersion and kind. */
  whole(): object;
  /** In the order of the resource's columns. */
  cells(nowMs: number): readonly unknown[];
}

/** One kind of object made from cluster records. */
export interface ServedResource {
  readonly group: ServedGroup;
  readonly plural: ServedPlural;
  readonly kind: string;
  readonly columns: readonly object[];
  /** The record as an object of this kind; undefined when the record is not one. */
  of(record: ClusterRecord): ServedObject | undefined;
  /** Objects without a record. */
  readonly fixed: readonly ServedObject[];
  /** Order of lists; by name when undefined. */
  readonly compare?: (a: ServedObject, b: ServedObject) => number;
  /** False when the object does not show the probe's findings; then they make no events. */
  readonly showsProbe: boolean;
}

export const metaGroup = 'meta.k8s.io/v1';

/** Answers get and list. @throws GatewayError 404, 406, 410 or 400 */
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

/** One object in the form asked for. */
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

/** @throws GatewayError NOT_FOUND */
export function existing(resource: ServedResource, store: ClusterReader, name: string): ServedObject {
  const fixed = resource.fixed.find((object) => object.name === name);
  if (fixed !== undefined) return fixed;
  const record = store.get(name);
  const object = record === undefined ? undefined : resource.of(record);
  if (object === undefined) throw absent(resource, name);
  return object;
}

/** 404 in kube-apiserver's words. */
export function absent({ plural, group }: ServedResource, name: string): GatewayError {
  return new GatewayError('NOT_FOUND', `${plural}.${group} "${name}" not found`, { kind: plural, group, name });
}

function readOnly({ plural, group }: ServedResource): GatewayError {
  return new GatewayError(
    'METHOD_NOT_ALLOWED',
    `${plural} come from the sources of the gateway; here they can be read only`,
    { kind: plural, group },
  );
}

/** All objects of the kind now, in the order of lists. */
export function listed(resource: ServedResource, store: ClusterReader): readonly ServedObject[] {
  const objects: ServedObject[] = [...resource.fixed];
  for (const record of store.list()) {
    const object = resource.of(record);
    // A fixed object keeps its name; a record with the same name is left out.
    if (object !== undefined && !resource.fixed.some(({ name }) => name === object.name)) objects.push(object);
  }
  return resource.compare === undefined ? objects : objects.sort(resource.compare);
}

/**
 * Matches objects by the label and field selectors of a query.
 * @throws GatewayError BAD_REQUEST for a selector that cannot be read
 */
export function objectMatcher(query: string): (object: ServedObject) => boolean {
  const labels = labelMatcher(queryValue(query, 'labelSelector') ?? '');
  const names = nameMatcher(queryValue(query, 'fieldSelector') ?? '');
  return (object) => (labels === undefined || labels(object.labels)) && names(object.name);
}

/**
 * Lists are always current and whole, so the version is only checked. A client that has seen a newer one lists again.
 * @throws GatewayError EXPIRED or BAD_REQUEST
 */
function checkListVersion(query: string, store: ClusterReader): void {
  if ((queryValue(query, 'continue') ?? '') !== '') {
    throw new GatewayError('EXPIRED', 'the continue token is not of this server; list again without it');
  }
  const wanted = queryValue(query, 'resourceVersion') ?? '';
  if (wanted === '' || wanted === '0') return;
  const exact = queryValue(query, 'resourceVersionMatch') === 'Exact';
  const expired = store.eventsSince(wanted) === 'expired' && Number(wanted) > Number(store.resourceVersion);
  if (expired || (exact && wanted !== store.resourceVersion)) {
    throw new GatewayError('EXPIRED', `the resource version ${wanted} is not at hand; list again without one`);
  }
}

export function partialOf(object: ServedObject): object {
  return { apiVersion: metaGroup, kind: 'PartialObjectMetadata', metadata: object.metadata() };
}

/** A Table; watchers get the columns with their first row only. */
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

/** One column of a Table; a priority above 0 shows only with `-o wide`. */
export function column(name: string, type: string, priority: number, description: string, format = ''): object {
  return { name, type, format, description, priority };
}
