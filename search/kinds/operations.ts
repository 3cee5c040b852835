// Requests of operators: `indexes/status`, `indexes/move` and `indexes/rebuild`. The gateway has authorized them
// before, by rules that name these subresources.
import { isJsonObject } from '../../lib/objects/json-object.ts';
import { GatewayError } from '../../model/errors.ts';
import type { FetchDependencies } from '../api/answer-dependencies.ts';
import { searchVersion } from '../catalog/catalog.ts';
import type { OperationQuestion } from '../api/question.ts';
import type { IndexRequest } from '../request/request.ts';
import type { Planned } from '../api/state.ts';

/**
 * Reads a request of an operator.
 * @throws GatewayError (rejects) BAD_REQUEST, METHOD_NOT_ALLOWED, or what `request.body` rejects with
 */
export async function readOperation(
  request: IndexRequest,
  operation: 'status' | 'move' | 'rebuild',
): Promise<OperationQuestion> {
  request.form(['']);
  if (operation === 'status') return { kind: 'operation', operation };
  if (request.inbound.method !== 'POST')
    throw new GatewayError('METHOD_NOT_ALLOWED', `indexes/${operation} is POSTed, as a JSON document`);
  const body = await request.body();
  if (!isJsonObject(body)) throw wrong('the document is a JSON object');
  if (operation === 'move') return { kind: 'operation', operation, ...readMove(body) };
  const { clusters, ...rest } = body;
  refuseOthers(rest);
  if (clusters === undefined) return { kind: 'operation', operation, clusters };
  if (!Array.isArray(clusters) || clusters.length === 0 || clusters.some((each) => typeof each !== 'string'))
    throw wrong('clusters is a list of names; without it every cluster is read anew');
  return { kind: 'operation', operation, clusters: clusters as readonly string[] };
}

function readMove({ cluster, replica, ...rest }: Readonly<Record<string, unknown>>): {
  readonly cluster: string;
  readonly replica: string | undefined;
} {
  refuseOthers(rest);
  if (typeof cluster !== 'string' || cluster === '') throw wrong('cluster is the name of a cluster');
  if (replica !== undefined && (typeof replica !== 'string' || replica === ''))
    throw wrong('replica is the name of a replica; without it the replicas decide');
  return { cluster, replica };
}

/** Refuses unknown fields. If a misspelt `clusters` were ignored, every cluster would be rebuilt. */
function refuseOthers(rest: Readonly<Record<string, unknown>>): void {
  const [other] = Object.keys(rest).filter((key) => key !== 'kind' && key !== 'apiVersion');
  if (other !== undefined) throw wrong(`there is no field ${JSON.stringify(other.slice(0, 60))}`);
}

function wrong(message: string): GatewayError {
  return new GatewayError('BAD_REQUEST', message);
}

/** Carries out the operation. Returns the IndexStatus for `status`, otherwise a metav1.Status with a message. */
export async function fetchOperation(
  { question }: Planned<OperationQuestion>,
  { operations }: FetchDependencies,
): Promise<object> {
  if (question.operation === 'status')
    return { kind: 'IndexStatus', apiVersion: searchVersion, ...(await operations.status()) };
  const message =
    question.operation === 'move'
      ? await operations.move(question.cluster, question.replica)
      : await operations.rebuild(question.clusters);
  return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', message, code: 200 };
}
