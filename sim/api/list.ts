// Answers GET of one object and of a list: selectors, pages, and the rules for resourceVersion (apimachinery
// ValidateListOptions, storage/cacher). All pages of a list show the objects at the revision of the first page, which
// later pages compute from the history of changes.
import { sendObject, sendPieces } from '../call/answer.ts';
import type { Call, Cluster } from '../call/cluster.ts';
import type { Resource } from '../store/resources.ts';
import { matcherOf, type Matcher } from '../store/selectors.ts';
import { StatusError, badRequest, expired, invalidOption, notFound } from '../model/status-error.ts';
import type { JsonObject, KubeObject } from '../model/types.ts';
import { listPieces, shaped } from '../wire/wire.ts';

/** How much of its object each row of a Table contains: `None`, `Metadata` (default) or `Object`. */
export function includeObjectOf(call: Call): string {
  return call.query.get('includeObject') ?? 'Metadata';
}

/** Answers GET of one object. */
export async function getOne(call: Call, resource: Resource): Promise<void> {
  const object = call.cluster.store.get(resource.key, call.info.namespace, call.info.name);
  if (object === undefined) throw notFound(resource, call.info.name);
  checkResourceVersion(call.cluster, call.query.get('resourceVersion') ?? '');
  await sendShaped(call, resource, 200, object);
}

/**
 * Answers with one object, as the client's Accept header requests it: whole, as a Table or as PartialObjectMetadata.
 */
export async function sendShaped(call: Call, resource: Resource, code: number, object: KubeObject): Promise<void> {
  const table = { includeObject: includeObjectOf(call), now: call.cluster.now() };
  await sendObject(call, code, shaped(resource, object, call.accept, table));
}

/** Answers GET of a collection. */
export async function listMany(call: Call, resource: Resource): Promise<void> {
  const matches = matcherOf(call.query, resource);
  const page = pageOf(call, resource, matches);
  const table = { includeObject: includeObjectOf(call), now: call.cluster.now() };
  const accept = call.accept;
  if (accept.format === 'yaml') {
    const text = [...listPieces(resource, page.objects, page.metadata, accept, table)].join('');
    await sendObject(call, 200, JSON.parse(text));
    return;
  }
  await sendPieces(call, 200, 'application/json', listPieces(resource, page.objects, page.metadata, accept, table));
}

/** The objects of one answer to a list, and the metadata of the list. */
interface Page {
  readonly objects: readonly KubeObject[];
  readonly metadata: JsonObject;
}

/** The content of a `continue` token: where the next page begins. */
interface ContinueToken {
  readonly v: 'meta.k8s.io/v1';
  /**
   * The revision of the list. -1 means the newest revision at the time when the token is used, so that later pages do
   * not fit the first one (an inconsistent continuation).
   */
  readonly rv: number;
  /** The key of the last object sent, `namespace/name`. */
  readonly start: string;
}

function pageOf(call: Call, resource: Resource, matches: Matcher): Page {
  const { store } = call.cluster;
  const { query, info } = call;
  const limit = numberOf(query.get('limit'));
  const continueText = query.get('continue') ?? '';
  const wanted = query.get('resourceVersion') ?? '';
  const match = query.get('resourceVersionMatch') ?? '';
  checkListOptions(continueText, wanted, match);

  let revision = store.revision;
  let after = '';
  if (continueText !== '') {
    const token = decodeContinue(continueText);
    if (token.rv !== -1 && token.rv < store.oldest) throw expiredContinue(token);
    revision = token.rv === -1 ? store.revision : token.rv;
    after = token.start;
  } else if (match === 'Exact') {
    revision = checkResourceVersion(call.cluster, wanted);
    if (revision < store.oldest) throw expired(`The resourceVersion for the provided list is too old.`);
  } else {
    checkResourceVersion(call.cluster, wanted);
  }

  const all = stateAt(call.cluster, resource.key, revision).filter(
    (object) => info.namespace === '' || object.metadata.namespace === info.namespace,
  );
  const start = after === '' ? 0 : all.findIndex((object) => pathOf(object) > after);
  const rest = (start < 0 ? [] : all.slice(start)).filter(matches);
  const metadata: JsonObject = { resourceVersion: String(revision) };
  if (limit === 0 || rest.length <= limit) return { objects: rest, metadata };
  const objects = rest.slice(0, limit);
  const last = objects.at(-1);
  metadata['continue'] = encodeContinue({
    v: 'meta.k8s.io/v1',
    rv: revision,
    start: last === undefined ? '' : pathOf(last),
  });
  const hasSelector = (query.get('labelSelector') ?? '') !== '' || (query.get('fieldSelector') ?? '') !== '';
  if (!hasSelector) metadata['remainingItemCount'] = rest.length - limit;
  return { objects, metadata };
}

/**
 * The objects of a resource at an earlier revision. The caller has checked that the history still contains this
 * revision.
 */
export function stateAt(cluster: Cluster, key: string, revision: number): readonly KubeObject[] {
  const { store } = cluster;
  const current = store.list(key);
  if (revision >= store.revision) return current;
  const later = store.since(key, revision) ?? [];
  if (later.length === 0) return current;
  const byPath = new Map(current.map((object) => [pathOf(object), object]));
  for (const event of later.toReversed()) {
    if (event.previous === undefined) byPath.delete(pathOf(event.object));
    else byPath.set(pathOf(event.previous), event.previous);
  }
  return [...byPath].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, object]) => object);
}

function pathOf(object: KubeObject): string {
  return `${object.metadata.namespace ?? ''}/${object.metadata.name}`;
}

/**
 * Parses a resourceVersion; '' gives 0.
 * @throws StatusError 400 when it is not a number, 504 when it is in the future
 */
export function checkResourceVersion(cluster: Cluster, text: string): number {
  if (text === '') return 0;
  if (!/^\d+$/.test(text))
    throw badRequest(
      `invalid resource version: resourceVersion: Invalid value: "${text}": strconv.ParseUint: parsing "${text}": invalid syntax`,
    );
  const revision = Number(text);
  if (revision <= cluster.store.revision) return revision;
  throw new StatusError(
    504,
    'Timeout',
    `Timeout: Too large resource version: ${revision}, current: ${cluster.store.revision}`,
    { retryAfterSeconds: 1, causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }] },
    { 'retry-after': '1' },
  );
}

function checkListOptions(continueText: string, revision: string, match: string): void {
  const refuse = (message: string, reason = 'FieldValueForbidden'): never => {
    throw invalidOption('ListOptions', { reason, message, field: 'resourceVersionMatch' });
  };
  if (match !== '' && match !== 'Exact' && match !== 'NotOlderThan')
    refuse(`Unsupported value: "${match}": supported values: "Exact", "NotOlderThan", ""`, 'FieldValueNotSupported');
  if (match !== '' && revision === '')
    refuse('Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided');
  if (match !== '' && continueText !== '')
    refuse('Forbidden: resourceVersionMatch is forbidden when continue is provided');
  if (match === 'Exact' && revision === '0')
    refuse('Forbidden: resourceVersionMatch "exact" is forbidden for resourceVersion "0"');
  if (continueText !== '' && revision !== '' && revision !== '0')
    throw badRequest('specifying resource version is not allowed when using continue');
}

function encodeContinue(token: ContinueToken): string {
  return Buffer.from(JSON.stringify(token)).toString('base64url');
}

function decodeContinue(text: string): ContinueToken {
  try {
    const token = JSON.parse(Buffer.from(text, 'base64url').toString('utf8')) as ContinueToken;
    if (token.v === 'meta.k8s.io/v1' && Number.isInteger(token.rv) && typeof token.start === 'string') return token;
  } catch {
    // A token that is not JSON is refused below.
  }
  throw badRequest('invalid continue token: continue key is not valid: encoded start key not recognized');
}

function expiredContinue(token: ContinueToken): StatusError {
  const failure = expired(
    'The provided continue parameter is too old to display a consistent list result. You can start a new list without the ' +
      'continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with ' +
      'the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time ' +
      'the first chunk was returned and now may show up in the list.',
  );
  failure.continueToken = encodeContinue({ ...token, rv: -1 });
  return failure;
}

/** Parses a query parameter as a non-negative whole number; 0 when it is absent. */
export function numberOf(text: string | null): number {
  if (text === null || text === '') return 0;
  if (!/^\d+$/.test(text)) throw badRequest(`strconv.ParseInt: parsing "${text}": invalid syntax`);
  return Number(text);
}
