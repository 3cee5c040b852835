// The parser of Go's regular expressions (regexp/syntax/parse.go, Perl flags). Easy to get wrong: what Go refuses must
// be refused here too, and flags such as (?i) reach to the end of their group only.

/** A place between two characters. */
export type Position = 'start' | 'end' | 'word-boundary' | 'not-word-boundary';

/** What a pattern consists of. */
export type PatternNode =
  | { readonly kind: 'one'; readonly accepts: (point: number) => boolean }
  | { readonly kind: 'position'; readonly position: Position }
  | { readonly kind: 'sequence'; readonly parts: readonly PatternNode[] }
  | { readonly kind: 'either'; readonly ways: readonly PatternNode[] }
  | { readonly kind: 'repeat'; readonly part: PatternNode; readonly min: number; readonly max: number };

/** Says why a pattern cannot be used, without quoting it. */
export class PatternError extends Error {
  constructor(reason: string) {
    super(reason);
    this.name = 'PatternError';
  }
}

type Accepts = (point: number) => boolean;

const maxRepeat = 1_000;
const maxDepth = 100;
const maxSource = 1_000;

const perlClasses: Readonly<Record<string, Accepts>> = {
  d: matching(/^[0-9]$/),
  s: matching(/^[\t\n\f\r ]$/),
  w: matching(/^[0-9A-Za-z_]$/),
};
const posixClasses: Readonly<Record<string, Accepts>> = {
  alnum: matching(/^[0-9A-Za-z]$/),
  alpha: matching(/^[A-Za-z]$/),
  ascii: matching(/^[\x00-\x7f]$/),
  blank: matching(/^[\t ]$/),
  cntrl: matching(/^[\x00-\x1f\x7f]$/),
  digit: matching(/^[0-9]$/),
  graph: matching(/^[!-~]$/),
  lower: matching(/^[a-z]$/),
  print: matching(/^[ -~]$/),
  punct: matching(/^[!-/:-@[-`{-~]$/),
  space: matching(/^[\t\n\v\f\r ]$/),
  upper: matching(/^[A-Z]$/),
  word: matching(/^[0-9A-Za-z_]$/),
  xdigit: matching(/^[0-9A-Fa-f]$/),
};
const controlEscapes: Readonly<Record<string, number>> = { a: 7, f: 12, t: 9, n: 10, r: 13, v: 11 };
/** General categories; Go also knows scripts, which nobody needs here. */
const categoryForm = /^(?:C[cfos]|L[ulmot]?|M[nce]?|N[dlo]?|P[cdseifo]?|S[mcko]?|Z[slp]?)$/;

/** @throws PatternError */
export function parsePattern(source: string): PatternNode {
  if (source.length > maxSource) throw new PatternError(`is longer than ${maxSource} characters`);
  const points = Array.from(source);
  let at = 0;
  let isFolding = false;
  const fail = (reason: string): never => {
    throw new PatternError(
      `is not a regular expression of Go: ${reason} (character ${Math.min(at, points.length) + 1})`,
    );
  };
  const peek = (ahead = 0): string => points[at + ahead] ?? '';
  const follows = (text: string): boolean => points.slice(at, at + text.length).join('') === text;

  const either = (depth: number): PatternNode => {
    if (depth > maxDepth) return fail('groups are nested too deeply');
    const ways = [sequence(depth)];
    while (peek() === '|') {
      at++;
      ways.push(sequence(depth));
    }
    return ways.length === 1 ? ways[0]! : { kind: 'either', ways };
  };

  const sequence = (depth: number): PatternNode => {
    const parts: PatternNode[] = [];
    while (at < points.length && peek() !== '|' && peek() !== ')') {
      if (follows('\\Q')) {
        at += 2;
        while (at < points.length && !follows('\\E')) parts.push(literal(points[at++]!));
        at += 2;
        continue;
      }
      const part = atom(depth);
      if (part !== undefined) parts.push(repeated(part));
    }
    return { kind: 'sequence', parts };
  };

  const repeated = (part: PatternNode): PatternNode => {
    const found = repetition();
    if (found === undefined) return part;
    if (peek() === '?') at++;
    if (repetition() !== undefined) return fail('one repetition follows another');
    return { kind: 'repeat', part, ...found };
  };

  /** Reads `*`, `+`, `?` or `{n,m}`; anything else that begins with a brace is a literal brace. */
  const repetition = (): { readonly min: number; readonly max: number } | undefined => {
    const sign = peek();
    if (sign === '*' || sign === '+' || sign === '?') {
      at++;
      return { min: sign === '+' ? 1 : 0, max: sign === '?' ? 1 : Infinity };
    }
    if (sign !== '{') return undefined;
    const form = /^\{(0|[1-9][0-9]*)(?:(,)(0|[1-9][0-9]*)?)?\}/.exec(points.slice(at, at + 20).join(''));
    if (form === null) return undefined;
    const min = Number(form[1]);
    const max = form[2] === undefined ? min : form[3] === undefined ? Infinity : Number(form[3]);
    if (min > maxRepeat || (max !== Infinity && max > maxRepeat) || min > max) return fail('the repeat count is wrong');
    at += form[0].length;
    return { min, max };
  };

  /** One element, or undefined for flags that stand alone. */
  const atom = (depth: number): PatternNode | undefined => {
    const sign = peek();
    at++;
    switch (sign) {
      case '*':
      case '+':
      case '?':
        at--;
        return fail('nothing to repeat');
      case '^':
        return { kind: 'position', position: 'start' };
      case '$':
        return { kind: 'position', position: 'end' };
      case '.':
        return { kind: 'one', accepts: () => true };
      case '[':
        return { kind: 'one', accepts: characterClass() };
      case '(':
        return group(depth);
      case '\\':
        return escape();
      default:
        return literal(sign);
    }
  };

  const group = (depth: number): PatternNode | undefined => {
    const outer = isFolding;
    if (peek() === '?') {
      const head = /^\?(?:P?<([A-Za-z_]\w*)>|([imsU]*)(?:-([imsU]+))?([:)]))/.exec(points.slice(at, at + 200).join(''));
      if (head === null) return fail('this kind of group does not exist');
      at += head[0].length;
      if (head[2]?.includes('i')) isFolding = true;
      if (head[3]?.includes('i')) isFolding = false;
      if (head[4] === ')') return undefined;
    }
    const inner = either(depth + 1);
    if (peek() !== ')') return fail('a group is not closed');
    at++;
    isFolding = outer;
    return inner;
  };

  const literal = (character: string): PatternNode => {
    const wanted = character.codePointAt(0)!;
    return { kind: 'one', accepts: folding((point) => point === wanted) };
  };

  const folding = (accepts: Accepts): Accepts => {
    if (!isFolding) return accepts;
    return (point) => accepts(point) || caseVariants(point).some(accepts);
  };

  const escape = (): PatternNode => {
    const position = positionEscapes[peek()];
    if (position !== undefined) {
      at++;
      return { kind: 'position', position };
    }
    const named = namedClass();
    if (named !== undefined) return { kind: 'one', accepts: folding(named) };
    const wanted = characterEscape();
    return { kind: 'one', accepts: folding((point) => point === wanted) };
  };

  /** `\d`, `\PL`, `\p{Lu}` …, the backslash already read; undefined when it is none. */
  const namedClass = (): Accepts | undefined => {
    const letter = peek();
    const perl = Object.hasOwn(perlClasses, letter.toLowerCase()) ? perlClasses[letter.toLowerCase()]! : undefined;
    if (perl !== undefined) {
      at++;
      return letter === letter.toLowerCase() ? perl : (point) => !perl(point);
    }
    if (letter !== 'p' && letter !== 'P') return undefined;
    const form = /^[pP](?:\{(\^?)(\w+)\}|([A-Z]))/.exec(points.slice(at, at + 40).join(''));
    const name = form?.[2] ?? form?.[3] ?? '';
    if (form === null || !categoryForm.test(name)) return fail('this Unicode class is not known here');
    at += form[0].length;
    const inside = matching(new RegExp(`^\\p{${name}}$`, 'u'));
    return (letter === 'P') === (form[1] === '^') ? inside : (point) => !inside(point);
  };

  const characterEscape = (): number => {
    const character = peek();
    const hex = /^x(?:([0-9A-Fa-f]{2})|\{([0-9A-Fa-f]{1,6})\})/.exec(points.slice(at, at + 10).join(''));
    if (hex !== null) {
      const value = Number.parseInt(hex[1] ?? hex[2]!, 16);
      if (value > 0x10ffff) return fail('there is no such character');
      at += hex[0].length;
      return value;
    }
    if (Object.hasOwn(controlEscapes, character)) {
      at++;
      return controlEscapes[character]!;
    }
    if (!/^[!-/:-@[-`{-~]$/.test(character)) return fail('this escape is not known here');
    at++;
    return character.codePointAt(0)!;
  };

  const characterClass = (): Accepts => {
    const isNegated = peek() === '^';
    if (isNegated) at++;
    const members: Accepts[] = [];
    for (let first = true; first || peek() !== ']'; first = false) {
      if (at >= points.length) return fail('a class is not closed');
      const posix = /^\[:(\^?)(\w+):\]/.exec(points.slice(at, at + 20).join(''));
      if (posix !== null) {
        const inside = Object.hasOwn(posixClasses, posix[2]!) ? posixClasses[posix[2]!]! : undefined;
        if (inside === undefined) return fail('there is no such class');
        at += posix[0].length;
        members.push(posix[1] === '^' ? (point) => !inside(point) : inside);
        continue;
      }
      if (peek() === '\\') {
        at++;
        const named = namedClass();
        if (named !== undefined) {
          members.push(named);
          continue;
        }
        at--;
      }
      const low = classCharacter();
      let high = low;
      if (peek() === '-' && peek(1) !== ']' && peek(1) !== '') {
        at++;
        high = classCharacter();
        if (high < low) return fail('a range runs backwards');
      }
      members.push((point) => point >= low && point <= high);
    }
    at++;
    const inside = folding((point) => members.some((accepts) => accepts(point)));
    return isNegated ? (point) => !inside(point) : inside;
  };

  const classCharacter = (): number => {
    const character = peek();
    if (character === '') return fail('a class is not closed');
    at++;
    return character === '\\' ? characterEscape() : character.codePointAt(0)!;
  };

  const whole = either(0);
  if (at < points.length) return fail('a closing parenthesis has no opening one');
  return whole;
}

const positionEscapes: Readonly<Record<string, Position>> = Object.assign(Object.create(null), {
  A: 'start',
  z: 'end',
  b: 'word-boundary',
  B: 'not-word-boundary',
});

function matching(form: RegExp): Accepts {
  return (point) => form.test(String.fromCodePoint(point));
}

/** Other cases of a character, as far as they are one character: Go folds s, S and ſ into one. */
function caseVariants(point: number): readonly number[] {
  const character = String.fromCodePoint(point);
  const variants = new Set([character.toLowerCase(), character.toUpperCase()]);
  for (const variant of [...variants]) variants.add(variant.toLowerCase()).add(variant.toUpperCase());
  return [...variants].filter((variant) => Array.from(variant).length === 1).map((variant) => variant.codePointAt(0)!);
}
