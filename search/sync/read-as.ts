// As whom a member is read where either would do: `portcullis:index` first, and as the gateway's own credential what
// that user is refused (403, also for want of the right to impersonate it). A right that comes later changes nothing by
// itself: the follower asks again and lists anew.
import type { MemberAnswer } from '../../routing/members/member-call.ts';
import type { AskMember, MemberQuestion } from './sync-types.ts';
import type { ReadAs } from './sync-types.ts';
import { ownCredential } from './sync-types.ts';

/** The ways there are to ask one member. */
export interface MemberAsks {
  readonly ask: AskMember;
  /** Whom the member sees by `ask`; `portcullis:index` when absent. */
  readonly as?: ReadAs | undefined;
  /** As the gateway itself, for what `ask` is refused; absent where the operator has chosen one of the two. */
  readonly askAsGateway?: AskMember | undefined;
}

/** What is read of a member by its own choice of the two ways. */
export interface MemberReader {
  readonly ask: AskMember;
  readonly as: () => ReadAs;
  /**
   * Where it is read as the gateway: asks these questions as `portcullis:index`, and goes on as that when all are
   * answered.
   * @returns whether it does now; false also when nobody can be asked
   */
  comesBack(questions: readonly MemberQuestion[]): Promise<boolean>;
}

/** @param onFallback what was read as `portcullis:index` is read as the gateway from now on */
export function makeReader(
  { ask: first, askAsGateway, as: firstAs = 'portcullis:index' }: MemberAsks,
  onFallback: () => void = () => undefined,
): MemberReader {
  let isFallback = false;
  /** `portcullis:index` was let in once. */
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
    // Another question may have changed it meanwhile.
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

/** 404 and 410 are answers to one who was let in. */
function isAdmitted({ status }: MemberAnswer): boolean {
  return status < 400 || status === 404 || status === 410;
}

function refusedTo(answer: MemberAnswer, who: string): MemberAnswer & { readonly refusedTo?: string } {
  return answer.status === 403 ? { ...answer, refusedTo: who } : answer;
}

/**
 * What an administrator of the cluster runs to let `portcullis:index` read it.
 * @param context of their kubeconfig
 * @param resources of `--index-resources`; undefined: the common ones
 */
export function mendCommand(context = 'CONTEXT', resources?: readonly string[]): string {
  const chosen = resources === undefined ? '' : ` --index-resources ${quoted(resources.join(','))}`;
  return `portcullis generate member-access --index${chosen} --apply --context ${quoted(context)}`;
}

/** For a POSIX shell. */
function quoted(text: string): string {
  return /^[\w.,@:/-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
