// JSON patch (RFC 6902), with pointers of RFC 6901. In a pointer `~1` must be decoded before `~0`. The index `-` is
// only valid for `add`.
import { StatusError, badRequest } from '../model/status-error.ts';
import { canonical } from '../store/store.ts';
import { copy, type JsonObject } from '../model/types.ts';

/** Most operations of one patch, as in kube-apiserver; a longer patch is refused with 413. */
const operationsLimit = 10_000;

/**
 * Returns the document after all operations; the argument is not changed.
 * @throws StatusError 400 for an invalid patch, 422 when an operation or test fails, 413 for more than 10,000
 * operations
 */
export function applyJsonPatch(document: unknown, operations: unknown): unknown {
  if (!Array.isArray(operations))
    throw badRequest(
      'error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp',
    );
  if (operations.length > operationsLimit)
    throw new StatusError(
      413,
      'RequestEntityTooLarge',
      `The allowed maximum operations in a JSON patch is ${operationsLimit}, got ${operations.length}`,
    );
  let root: unknown = copy(document);
  for (const operation of operations as JsonObject[]) root = applyOne(root, operation);
  return root;
}

/**
 * The error for an operation that fails. As in kube-apiserver, the client does not see `why`, which only helps to debug
 * the simulator.
 */
function failed(why: string): StatusError {
  const failure = new StatusError(422, 'Invalid', 'the server rejected our request due to an error in our request', {});
  failure.cause = why;
  return failure;
}

function applyOne(root: unknown, operation: JsonObject): unknown {
  const { op, path, from } = operation;
  if (typeof path !== 'string') throw badRequest('json patch: an operation has no path');
  switch (op) {
    case 'add':
      return add(root, steps(path), valueOf(operation));
    case 'remove':
      return remove(root, steps(path), path);
    case 'replace':
      get(root, steps(path), path);
      return steps(path).length === 0
        ? valueOf(operation)
        : add(remove(root, steps(path), path), steps(path), valueOf(operation));
    case 'move': {
      const value = get(root, steps(from), from);
      return add(remove(root, steps(from), from), steps(path), value);
    }
    case 'copy':
      return add(root, steps(path), copy(get(root, steps(from), from)));
    case 'test': {
      const actual = canonical(get(root, steps(path), path, true));
      if (actual !== canonical(valueOf(operation))) throw failed(`testing path ${path} failed`);
      return root;
    }
    default:
      throw badRequest(`Unexpected kind: ${String(op)}`);
  }
}

function valueOf(operation: JsonObject): unknown {
  return operation['value'] === undefined ? null : operation['value'];
}

function steps(pointer: unknown): string[] {
  if (pointer === '') return [];
  if (typeof pointer !== 'string' || !pointer.startsWith('/')) throw failed(`invalid pointer ${String(pointer)}`);
  return pointer
    .slice(1)
    .split('/')
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
}

function get(root: unknown, path: readonly string[], pointer: string, isMissingNull = false): unknown {
  let at: any = root;
  for (const step of path) {
    const isThere = Array.isArray(at)
      ? /^\d+$/.test(step) && Number(step) < at.length
      : at !== null && typeof at === 'object' && Object.hasOwn(at, step);
    if (!isThere) {
      if (isMissingNull) return null;
      throw failed(`missing path: ${pointer}`);
    }
    at = at[Array.isArray(at) ? Number(step) : step];
  }
  return at;
}

function add(root: unknown, path: readonly string[], value: unknown): unknown {
  const last = path.at(-1);
  if (last === undefined) return value;
  const parent: any = get(root, path.slice(0, -1), `/${path.slice(0, -1).join('/')}`);
  if (Array.isArray(parent)) {
    const index = last === '-' ? parent.length : Number(last);
    if (!Number.isInteger(index) || index < 0 || index > parent.length || (last !== '-' && !/^\d+$/.test(last)))
      throw failed(`Unable to access invalid index: ${last}`);
    parent.splice(index, 0, value);
  } else if (parent !== null && typeof parent === 'object') {
    Object.defineProperty(parent, last, { value, enumerable: true, configurable: true, writable: true });
  } else throw failed(`add operation does not apply: doc is missing path: /${path.join('/')}`);
  return root;
}

function remove(root: unknown, path: readonly string[], pointer: string): unknown {
  const last = path.at(-1);
  if (last === undefined) return null;
  get(root, path, pointer);
  const parent: any = get(root, path.slice(0, -1), pointer);
  if (Array.isArray(parent)) parent.splice(Number(last), 1);
  else delete parent[last];
  return root;
}
