// Step 1 of chain.ts: finds out what is requested. The index is read-only: a write gets 405, with the path at which the
// write is possible.
import { GatewayError } from '../../model/errors.ts';
import { readFleet } from '../kinds/fleet.ts';
import type { AnswerDependencies } from '../api/answer-dependencies.ts';
import { urlParameters } from '../../query/parameters.ts';
import { innerPath } from '../request/inner-path.ts';
import type { AskedDocument } from '../request/inner-path.ts';
import { readLive } from '../kinds/live-types.ts';
import { readOperation } from '../kinds/operations.ts';
import type { Question } from '../api/question.ts';
import type { IndexPart, IndexRequest } from '../request/request.ts';
import { readWhatCan, readWhoCan } from '../kinds/who-can/read-access.ts';
import { readObjects } from '../kinds/read-objects.ts';
import { readCollection, readCollectionNames } from '../kinds/read-collections.ts';
import { readFreshness, readPosted, readValues } from '../kinds/read-types.ts';

/**
 * The kinds of paths for which `watch=true` is not refused by refuseWatch(). Most serve watches, or refuse by
 * themselves those that they do not serve. `fleet`, the numbers for Prometheus, is not a resource; kube-apiserver
 * ignores `watch` at such paths.
 */
const watchedOrNoResource: ReadonlySet<IndexPart['part']> = new Set([
  'resources',
  'proxy',
  'proxying',
  'cache',
  'collections',
  'fleet',
]);

export async function read(request: IndexRequest, dependencies: AnswerDependencies): Promise<Question> {
  const { asked, inbound } = request;
  const isRead = inbound.method === 'GET' || inbound.method === 'HEAD';
  const isPosted = asked.part === 'query' || asked.part === 'move' || asked.part === 'rebuild';
  if (!isRead && !isPosted) throw readOnly(asked);
  if (isRead && !watchedOrNoResource.has(asked.part)) refuseWatch(request);
  return questionOf(request, dependencies);
}

/** Refuses `watch=true`. The client would wait for events, and would take an object or a list for a malformed event. */
function refuseWatch({ asked: { part }, query }: IndexRequest): void {
  if (urlParameters(query.slice(1)).flag('watch') !== true) return;
  const what = part === 'indexes' ? 'indexes cannot be watched' : `${part} of an index cannot be watched`;
  throw new GatewayError('METHOD_NOT_ALLOWED', `${what}; watch the objects in it, below …/indexes/default/proxy`, {
    kind: 'indexes',
    group: 'search.portcullis.io',
  });
}

async function questionOf(request: IndexRequest, dependencies: AnswerDependencies): Promise<Question> {
  const { asked } = request;
  const { allowsWhereSql } = dependencies;
  const collections = { own: dependencies.collections(), allowsWhereSql };
  switch (asked.part) {
    case 'resources':
    case 'proxy':
    case 'proxying':
    case 'cache': {
      const path = innerPath(asked.segments);
      if (path.kind === 'document') return readDocument(request, path);
      return (await readLive(request, path, dependencies)) ?? readObjects(request, path, allowsWhereSql);
    }
    case 'collections':
      return asked.name === undefined
        ? readCollectionNames(request, collections)
        : readCollection(request, asked.name, collections);
    case 'indexes':
      request.form(['']);
      return { kind: 'indexes', name: asked.name };
    case 'freshness':
      return readFreshness(request);
    case 'fleet':
      return readFleet(request);
    case 'status':
    case 'move':
    case 'rebuild':
      return readOperation(request, asked.part);
    case 'whocan':
      return readWhoCan(request);
    case 'whatcan':
      return readWhatCan(request);
    case 'query':
      return readPosted(request, allowsWhereSql);
    default:
      return readValues(request, asked.part, allowsWhereSql);
  }
}

function readDocument(request: IndexRequest, document: AskedDocument): Question {
  switch (document.document) {
    case 'health':
      return { kind: 'health' };
    case 'version':
      request.form(['']);
      return { kind: 'version' };
    default:
      return { kind: 'document', document };
  }
}

function readOnly(asked: IndexRequest['asked']): GatewayError {
  const segments = 'segments' in asked ? asked.segments : [];
  const isReview = segments.includes('authorization.k8s.io') || segments.includes('authentication.k8s.io');
  const what = isReview
    ? 'who may do what is each cluster’s to say: ask it'
    : 'the index holds copies and can be read only; change objects in their cluster';
  return new GatewayError('METHOD_NOT_ALLOWED', `${what}, below /clusters/<name>/proxy`);
}
