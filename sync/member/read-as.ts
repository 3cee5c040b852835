// Chooses with which identity a type of a member cluster is read: `portcullis:index`, or the gateway's own credential
// when the member answers 403 to the former. When `portcullis:index` gets the right later, no answer shows that. So
// `comesBack` tries it again, and the follower then lists the type again.
import type { MemberAnswer } from '../../routing/members/member-call.ts';
import type { AskMember, MemberQuestion } from './sync-types.ts';
import type { ReadAs } from './sync-types.ts';
import { ownCredential } from './sync-types.ts';

/** The functions that send requests to one member cluster, with one or two identities. */
export interface MemberAsks {
  readonly ask: AskMember;
  /** The identity that `ask` uses; `portcullis:index` when absent. */
  readonly as?: ReadAs | undefined;
  /**
   * Sends a request with the gateway's own credential, used when `ask` gets 403. Absent when the operator chose one
   * identity.
   */
  readonly askAsGateway?: AskMember | undefined;
}

/** Sends requests for one type, and chooses between the two identities. */
export interface MemberReader {
  readonly ask: AskMember;
  readonly as: () => ReadAs;
  /**
   * If the gateway's own credential is in use, sends these requests as `portcullis:index`. When all get 200, that user
   * is used from now on.
   * @returns whether the identity changed now
   */
  comesBack(questions: readonly MemberQuestion[]): Promise<boolean>;
}

/**
 * Makes a reader. Its first request uses the identity of `ask`; later ones may use another identity.
 * @param onFallback called when the identity changes from `portcullis:index` to the gateway's own credential
 */
export function makeReader(
  { ask: first, askAsGateway, as: firstAs = 'portcullis:index' }: MemberAsks,
  onFallback: () => void = () => undefined,
): MemberReader {
  let isFallback = false;
  /** True once a request as `portcullis:index` was not refused. */
  let wasFirst = false;
  const asked: AskMember = async (question) => {
    if (askAsGateway === undefined) return refusedTo(await first(question), firstAs);
    const [one, other] = isFallback ? [askAsGateway, first] : [first, askAsGateway];
    const answer = await one(question);
    if (answer.status !== 403) {
      wasFirst ||= !isFallback;
      return answer;
    }
    const second = await other(question).catch(() => undefined);
    question.signal.throwIfAborted();
    if (second === undefined || !isAdmitted(second)) {
      second?.cancel();
      return refusedTo(answer, `${firstAs} and to ${ownCredential}`);
    }
    answer.cancel();
    // A request that ran at the same time may have changed `isFallback`.
    const was = isFallback;
    isFallback = other === askAsGateway;
    if (isFallback && !was && wasFirst) onFallback();
    return second;
  };
  return {
    ask: asked,
    as: () => (isFallback ? ownCredential : firstAs),
    async comesBack(questions) {
      if (!isFallback) return false;
      for (const question of questions) {
        const answer = await first(question).catch(() => undefined);
        answer?.cancel();
        if (answer?.status !== 200) return false;
      }
      isFallback = false;
      wasFirst = true;
      return true;
    },
  };
}

/** Statuses 404 and 410 also mean that the user was authorized. */
function isAdmitted({ status }: MemberAnswer): boolean {
  return status < 400 || status === 404 || status === 410;
}

function refusedTo(answer: MemberAnswer, who: string): MemberAnswer & { readonly refusedTo?: string } {
  return answer.status === 403 ? { ...answer, refusedTo: who } : answer;
}

/**
 * The command with which an administrator of the cluster permits `portcullis:index` to read it.
 * @param context the context of their kubeconfig
 * @param resources the value of `--index-resources`; undefined for the default resources
 */
export function mendCommand(context = 'CONTEXT', resources?: readonly string[]): string {
  const chosen = resources === undefined ? '' : ` --index-resources ${quoted(resources.join(','))}`;
  return `portcullis generate member-access --index${chosen} --apply --context ${quoted(context)}`;
}

/** Quotes a text for a POSIX shell. */
function quoted(text: string): string {
  return /^[\w.,@:/-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
