// Which code answers which part of the index. Easy to get wrong: the index is only read; whoever wants to write is told
// where, with 405, before anything is looked up.
import { GatewayError } from '../../cache/model/errors.ts';
import { sendJson } from './answer-body.ts';
import { answerCollections } from './collections.ts';
import { answerDocument } from './documents/documents.ts';
import { innerPath } from './inner-path.ts';
import { answerObjects } from './objects.ts';
import type { AnswerParts } from './parts.ts';
import { answerQuestion, indexObject } from './questions.ts';
import type { IndexRequest } from './request.ts';

/** Answers one request; resolves when the exchange is over. @throws GatewayError (rejects) while nothing was sent */
export async function answerIndexRequest(request: IndexRequest, parts: AnswerParts): Promise<void> {
  const { asked, inbound } = request;
  const isRead = inbound.method === 'GET' || inbound.method === 'HEAD';
  if (!isRead && asked.part !== 'query') throw readOnly(asked);
  switch (asked.part) {
    case 'resources':
    case 'proxy': {
      const path = innerPath(asked.segments);
      if (path.kind === 'objects') await answerObjects(request, path, parts);
      else await answerDocument(request, path, parts);
      return;
    }
    case 'collections':
      await answerCollections(request, asked.name, parts);
      return;
    case 'indexes':
      answerIndexes(request, asked.name, parts);
      return;
    default:
      await answerQuestion(request, asked.part, parts);
  }
}

function answerIndexes(request: IndexRequest, name: string | undefined, { store }: AnswerParts): void {
  request.form(['']);
  const index = indexObject(store.resourceVersion());
  if (name === undefined) {
    const metadata = { resourceVersion: store.resourceVersion() };
    sendJson(request, { kind: 'IndexList', apiVersion: 'search.portcullis.io/v1alpha1', metadata, items: [index] });
  } else if (name === 'default') sendJson(request, index);
  else {
    throw new GatewayError('NOT_FOUND', `indexes.search.portcullis.io ${JSON.stringify(name)} not found`, {
      kind: 'indexes',
      group: 'search.portcullis.io',
      name,
    });
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
