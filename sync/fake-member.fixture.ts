// An API server in memory that answers lists, watches and discovery, and can simulate faults. It keeps past versions
// like a real one, so that a watch or a list from an old version is answered correctly.
import type { MemberAnswer } from '../routing/members/member-call.ts';
import type { AskMember, MemberQuestion } from './member/sync-types.ts';

/** An object for `put`. The fake adds uid and resourceVersion. */
export interface FakeObject {
  readonly namespace?: string;
  readonly name: string;
  /** Further JSON members of the object, such as `"spec":{…}`. */
  readonly more?: string;
}

interface Event {
  readonly version: number;
  readonly path: string;
  readonly line: string;
}

interface Watch {
  readonly path: string;
  push(line: string): void;
  end(): void;
}

export interface FakeMember {
  readonly ask: AskMember;
  /** The paths of all requests, in order. */
  readonly asked: string[];
  put(collection: string, object: FakeObject): void;
  remove(collection: string, object: FakeObject): void;
  bookmark(collection: string): void;
  /** Sends one line to all open watches of a collection. */
  say(collection: string, line: string): void;
  endWatches(): void;
  /** Drops all past versions, as etcd's compaction does. */
  forgetHistory(): void;
  /** Restores objects and resourceVersion from a text that `save` returned. */
  restore(state: string): void;
  save(): string;
  uid: string;
  /** Returns the status to answer a request with; undefined for a normal answer. Replaced by tests. */
  fault: (question: MemberQuestion) => number | undefined;
  readonly watches: number;
}

/**
 * Makes a fake cluster that serves these collections.
 * @param kinds the kind of each collection, by its path, such as `/api/v1/pods`
 */
export function makeFakeMember(
  kinds: Readonly<Record<string, string>>,
  namespaced: ReadonlySet<string> = new Set(),
): FakeMember {
  let version = 100;
  let oldest = 100;
  let uids = 0;
  let objects = new Map<string, Map<string, string>>();
  /** The items of a collection after each change, for lists at an exact resourceVersion. */
  let past: { readonly version: number; readonly path: string; readonly items: readonly string[] }[] = [];
  let events: Event[] = [];
  const watches = new Set<Watch>();
  const asked: string[] = [];
  const all = (path: string): Map<string, string> => {
    const found = objects.get(path) ?? new Map<string, string>();
    objects.set(path, found);
    return found;
  };
  const keyOf = ({ namespace = '', name }: FakeObject): string => `${namespace}/${name}`;
  const tell = (path: string, type: string, object: string): void => {
    const line = `{"type":"${type}","object":${object}}`;
    events.push({ version, path, line });
    past.push({ version, path, items: [...all(path).values()] });
    for (const watch of watches) if (watch.path === path) watch.push(line);
  };
  const metadataOf = ({ namespace, name }: FakeObject, uid: string): string =>
    `"metadata":{"name":"${name}",${namespace === undefined ? '' : `"namespace":"${namespace}",`}"uid":"${uid}","resourceVersion":"${version}"}`;

  const member: FakeMember = {
    asked,
    uid: 'life-1',
    fault: () => undefined,
    get watches() {
      return watches.size;
    },
    put(path, object) {
      version += 1;
      const before = all(path).get(keyOf(object));
      const uid = before === undefined ? `u${(uids += 1)}` : /"uid":"([^"]+)"/.exec(before)![1]!;
      const text = `${metadataOf(object, uid)}${object.more === undefined ? '' : `,${object.more}`}`;
      all(path).set(keyOf(object), `{${text}}`);
      const [apiVersion, kind] = [path.replace(/^\/apis?\//, '').replace(/\/[^/]*$/, ''), kinds[path]!];
      tell(
        path,
        before === undefined ? 'ADDED' : 'MODIFIED',
        `{"kind":"${kind}","apiVersion":"${apiVersion}",${text}}`,
      );
    },
    remove(path, object) {
      version += 1;
      const before = all(path).get(keyOf(object))!;
      all(path).delete(keyOf(object));
      tell(path, 'DELETED', before.replace(/"resourceVersion":"\d+"/, `"resourceVersion":"${version}"`));
    },
    bookmark(path) {
      member.say(path, `{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"${version}"}}}`);
    },
    say(path, line) {
      for (const watch of watches) if (watch.path === path) watch.push(line);
    },
    endWatches() {
      for (const watch of watches) watch.end();
    },
    forgetHistory() {
      oldest = version;
      events = [];
      past = [];
    },
    save: () => JSON.stringify([version, [...objects].map(([path, of]) => [path, [...of]])]),
    restore(state) {
      const [saved, of] = JSON.parse(state) as [number, [string, [string, string][]][]];
      version = saved;
      oldest = saved;
      events = [];
      objects = new Map(of.map(([path, pairs]) => [path, new Map(pairs)]));
      past = [...objects].map(([path, each]) => ({ version: saved, path, items: [...each.values()] }));
      member.endWatches();
    },
    async ask(question) {
      question.signal.throwIfAborted();
      asked.push(question.path);
      const status = member.fault(question);
      if (status !== undefined) {
        const headers = status === 429 ? ['Retry-After', '0'] : [];
        return { ...answerOf(status, `{"kind":"Status","code":${status}}`), headers };
      }
      const url = new URL(question.path, 'https://member');
      const { pathname, searchParams: query } = url;
      const [, root, namespace, plural] = /^(.*)\/namespaces\/([^/]+)\/([^/]+)$/.exec(pathname) ?? [];
      const path = namespace === undefined ? pathname : `${root}/${plural}`;
      if (path === '/api/v1/namespaces/kube-system') return answerOf(200, `{"metadata":{"uid":"${member.uid}"}}`);
      if (path === '/api' || path === '/apis') return answerOf(200, discovery(path));
      if (kinds[path] === undefined) return answerOf(404, '404 page not found');
      if (query.get('watch') === 'true') return watch(path, Number(query.get('resourceVersion')), question);
      return list(path, query, namespace);
    },
  };

  function list(path: string, query: URLSearchParams, namespace: string | undefined): MemberAnswer {
    const [at = '0', asOf = String(version)] = (query.get('continue') ?? '').split(':').filter((part) => part !== '');
    const exact = query.get('resourceVersionMatch') === 'Exact' ? Number(query.get('resourceVersion')) : undefined;
    if (Math.min(Number(asOf), exact ?? version) < oldest)
      return answerOf(410, '{"kind":"Status","reason":"Expired","code":410}');
    const named = query.get('fieldSelector')?.replace('metadata.name=', '');
    const then = past.findLast((each) => each.path === path && each.version <= (exact ?? version))?.items;
    const items = [...((exact === undefined ? undefined : then) ?? all(path).values())].filter(
      (item) =>
        (named === undefined || item.includes(`"metadata":{"name":"${named}"`)) &&
        (namespace === undefined || item.includes(`"namespace":"${namespace}"`)),
    );
    const until = Number(at) + Number(query.get('limit') ?? items.length);
    const token = until < items.length ? `,"continue":"${until}:${asOf}"` : '';
    const head = `"metadata":{"resourceVersion":"${exact ?? asOf}"${token}}`;
    return answerOf(200, `{"kind":"${kinds[path]}List",${head},"items":[${items.slice(Number(at), until).join()}]}`);
  }

  function watch(path: string, from: number, question: MemberQuestion): MemberAnswer {
    if (from < oldest)
      return answerOf(200, '{"type":"ERROR","object":{"kind":"Status","reason":"Expired","code":410}}\n');
    const queue = events.filter((event) => event.path === path && event.version > from).map(({ line }) => line);
    let wake: () => void = () => undefined;
    let isOver = false;
    const made: Watch = {
      path,
      push(line) {
        queue.push(line);
        wake();
      },
      end() {
        isOver = true;
        watches.delete(made);
        wake();
      },
    };
    watches.add(made);
    question.signal.addEventListener('abort', () => made.end());
    async function* chunks(): AsyncGenerator<Buffer> {
      for (;;) {
        const line = queue.shift();
        if (line !== undefined) yield Buffer.from(`${line}\n`);
        else if (isOver) return;
        else await new Promise<void>((resolve) => void (wake = resolve));
      }
    }
    return { status: 200, headers: [], chunks: chunks(), cancel: () => made.end() };
  }

  /** Makes the aggregated discovery document for `/api` or `/apis`. */
  function discovery(root: string): string {
    const groups = new Map<string, object[]>();
    for (const [path, kind] of Object.entries(kinds)) {
      const parts = path.split('/').slice(1);
      if (parts[0] !== root.slice(1)) continue;
      const [group, version, resource] =
        root === '/api' ? ['', parts[1]!, parts[2]!] : [parts[1]!, parts[2]!, parts[3]!];
      const resources = {
        resource,
        responseKind: { kind },
        scope: namespaced.has(path) ? 'Namespaced' : 'Cluster',
        singularResource: kind.toLowerCase(),
        verbs: ['get', 'list', 'watch'],
      };
      groups.set(group, [...(groups.get(group) ?? []), { version, resources: [resources] }]);
    }
    const items = [...groups].map(([name, versions]) => ({ metadata: { name }, versions }));
    return JSON.stringify({ kind: 'APIGroupDiscoveryList', items });
  }
  return member;
}

function answerOf(status: number, text: string): MemberAnswer {
  async function* chunks(): AsyncGenerator<Buffer> {
    // Sent in chunks of 100 bytes, so that chunk borders fall inside objects.
    const bytes = Buffer.from(text);
    for (let at = 0; at < bytes.length; at += 100) yield bytes.subarray(at, at + 100);
  }
  return { status, headers: [], chunks: chunks(), cancel: () => undefined };
}
