// A parser for Go's regular expressions (regexp/syntax/parse.go with Perl flags). It refuses what Go refuses. A flag
// such as (?i) is valid until the end of its group.

/** A zero-width assertion: a condition on a position between two characters. */
export type Position = 'start' | 'end' | 'word-boundary' | 'not-word-boundary';

/** A node of a parsed pattern. `one` matches one character, given as its code point. */
export type PatternNode =
  | { readonly kind: 'one'; readonly accepts: (point: number) => boolean }
  | { readonly kind: 'position'; readonly position: Position }
  | { readonly kind: 'sequence'; readonly parts: readonly PatternNode[] }
  | { readonly kind: 'either'; readonly alternatives: readonly PatternNode[] }
  | { readonly kind: 'repeat'; readonly part: PatternNode; readonly min: number; readonly max: number };

/** Says why a pattern cannot be used, without quoting the pattern. */
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
/** Names of Unicode general categories. Go also knows scripts such as Greek, which are not supported here. */
const categoryForm = /^(?:C[cfos]|L[ulmot]?|M[nce]?|N[dlo]?|P[cdseifo]?|S[mcko]?|Z[slp]?)$/;

/**
 * Parses a pattern.
 * @throws PatternError when it is not valid in Go, uses an unsupported class, or exceeds a limit
 */
export function parsePattern(source: string): PatternNode {
  if (source.length > maxSource) throw new PatternError(`is longer than ${maxSource} characters`);
  return new Parser(source).whole();
}

/** A recursive-descent parser for one pattern. */
class Parser {
  readonly #points: readonly string[];
  #at = 0;
  /** Whether the flag `(?i)` is on at the current position. */
  #isFolding = false;

  constructor(source: string) {
    this.#points = Array.from(source);
  }

  whole(): PatternNode {
    const whole = this.#either(0);
    if (this.#at < this.#points.length) return this.#fail('a closing parenthesis has no opening one');
    return whole;
  }

  #either(depth: number): PatternNode {
    if (depth > maxDepth) return this.#fail('groups are nested too deeply');
    const alternatives = [this.#sequence(depth)];
    while (this.#peek() === '|') {
      this.#at++;
      alternatives.push(this.#sequence(depth));
    }
    return alternatives.length === 1 ? alternatives[0]! : { kind: 'either', alternatives };
  }

  #sequence(depth: number): PatternNode {
    const parts: PatternNode[] = [];
    while (this.#at < this.#points.length && this.#peek() !== '|' && this.#peek() !== ')') {
      if (this.#next(2) === '\\Q') {
        this.#at += 2;
        while (this.#at < this.#points.length && this.#next(2) !== '\\E')
          parts.push(this.#literal(this.#points[this.#at++]!));
        this.#at += 2;
        continue;
      }
      const part = this.#atom(depth);
      if (part !== undefined) parts.push(this.#repeated(part));
    }
    return { kind: 'sequence', parts };
  }

  #repeated(part: PatternNode): PatternNode {
    const found = this.#repetition();
    if (found === undefined) return part;
    if (this.#peek() === '?') this.#at++;
    if (this.#repetition() !== undefined) return this.#fail('one repetition follows another');
    return { kind: 'repeat', part, ...found };
  }

  /**
   * Parses `*`, `+`, `?` or `{n,m}`; undefined when none is there. A brace that begins no such form is an ordinary
   * character.
   */
  #repetition(): { readonly min: number; readonly max: number } | undefined {
    const sign = this.#peek();
    if (sign === '*' || sign === '+' || sign === '?') {
      this.#at++;
      return { min: sign === '+' ? 1 : 0, max: sign === '?' ? 1 : Infinity };
    }
    if (sign !== '{') return undefined;
    const form = /^\{(0|[1-9][0-9]*)(?:(,)(0|[1-9][0-9]*)?)?\}/.exec(this.#next(20));
    if (form === null) return undefined;
    const min = Number(form[1]);
    const max = form[2] === undefined ? min : form[3] === undefined ? Infinity : Number(form[3]);
    if (min > maxRepeat || (max !== Infinity && max > maxRepeat) || min > max)
      return this.#fail('the repeat count is wrong');
    this.#at += form[0].length;
    return { min, max };
  }

  /** Parses one element of a sequence; undefined for a flag group such as `(?i)`, which matches nothing itself. */
  #atom(depth: number): PatternNode | undefined {
    const sign = this.#peek();
    this.#at++;
    switch (sign) {
      case '*':
      case '+':
      case '?':
        this.#at--;
        return this.#fail('nothing to repeat');
      case '^':
        return { kind: 'position', position: 'start' };
      case '$':
        return { kind: 'position', position: 'end' };
      case '.':
        return { kind: 'one', accepts: () => true };
      case '[':
        return { kind: 'one', accepts: this.#characterClass() };
      case '(':
        return this.#group(depth);
      case '\\':
        return this.#escape();
      default:
        return this.#literal(sign);
    }
  }

  #group(depth: number): PatternNode | undefined {
    const outer = this.#isFolding;
    if (this.#peek() === '?') {
      const head = /^\?(?:P?<([A-Za-z_]\w*)>|([imsU]*)(?:-([imsU]+))?([:)]))/.exec(this.#next(200));
      if (head === null) return this.#fail('this kind of group does not exist');
      this.#at += head[0].length;
      if (head[2]?.includes('i')) this.#isFolding = true;
      if (head[3]?.includes('i')) this.#isFolding = false;
      if (head[4] === ')') return undefined;
    }
    const inner = this.#either(depth + 1);
    if (this.#peek() !== ')') return this.#fail('a group is not closed');
    this.#at++;
    this.#isFolding = outer;
    return inner;
  }

  #literal(character: string): PatternNode {
    const wanted = character.codePointAt(0)!;
    return { kind: 'one', accepts: this.#folding((point) => point === wanted) };
  }

  #folding(accepts: Accepts): Accepts {
    if (!this.#isFolding) return accepts;
    return (point) => accepts(point) || caseVariants(point).some(accepts);
  }

  #escape(): PatternNode {
    const position = positionEscapes[this.#peek()];
    if (position !== undefined) {
      this.#at++;
      return { kind: 'position', position };
    }
    const named = this.#namedClass();
    if (named !== undefined) return { kind: 'one', accepts: this.#folding(named) };
    const wanted = this.#characterEscape();
    return { kind: 'one', accepts: this.#folding((point) => point === wanted) };
  }

  /** Parses a class such as `\d`, `\PL` or `\p{Lu}` after its backslash; undefined when no class is there. */
  #namedClass(): Accepts | undefined {
    const letter = this.#peek();
    const perl = Object.hasOwn(perlClasses, letter.toLowerCase()) ? perlClasses[letter.toLowerCase()]! : undefined;
    if (perl !== undefined) {
      this.#at++;
      return letter === letter.toLowerCase() ? perl : (point) => !perl(point);
    }
    if (letter !== 'p' && letter !== 'P') return undefined;
    const form = /^[pP](?:\{(\^?)(\w+)\}|([A-Z]))/.exec(this.#next(40));
    const name = form?.[2] ?? form?.[3] ?? '';
    if (form === null || !categoryForm.test(name)) return this.#fail('this Unicode class is not known here');
    this.#at += form[0].length;
    const inside = matching(new RegExp(`^\\p{${name}}$`, 'u'));
    return (letter === 'P') === (form[1] === '^') ? inside : (point) => !inside(point);
  }

  #characterEscape(): number {
    const character = this.#peek();
    const hex = /^x(?:([0-9A-Fa-f]{2})|\{([0-9A-Fa-f]{1,6})\})/.exec(this.#next(10));
    if (hex !== null) {
      const value = Number.parseInt(hex[1] ?? hex[2]!, 16);
      if (value > 0x10ffff) return this.#fail('there is no such character');
      this.#at += hex[0].length;
      return value;
    }
    if (Object.hasOwn(controlEscapes, character)) {
      this.#at++;
      return controlEscapes[character]!;
    }
    if (!/^[!-/:-@[-`{-~]$/.test(character)) return this.#fail('this escape is not known here');
    this.#at++;
    return character.codePointAt(0)!;
  }

  #characterClass(): Accepts {
    const isNegated = this.#peek() === '^';
    if (isNegated) this.#at++;
    const members: Accepts[] = [];
    for (let first = true; first || this.#peek() !== ']'; first = false) {
      if (this.#at >= this.#points.length) return this.#fail('a class is not closed');
      const posix = /^\[:(\^?)(\w+):\]/.exec(this.#next(20));
      if (posix !== null) {
        const inside = Object.hasOwn(posixClasses, posix[2]!) ? posixClasses[posix[2]!]! : undefined;
        if (inside === undefined) return this.#fail('there is no such class');
        this.#at += posix[0].length;
        members.push(posix[1] === '^' ? (point) => !inside(point) : inside);
        continue;
      }
      if (this.#peek() === '\\') {
        this.#at++;
        const named = this.#namedClass();
        if (named !== undefined) {
          members.push(named);
          continue;
        }
        this.#at--;
      }
      const low = this.#classCharacter();
      let high = low;
      if (this.#peek() === '-' && this.#peek(1) !== ']' && this.#peek(1) !== '') {
        this.#at++;
        high = this.#classCharacter();
        if (high < low) return this.#fail('a range runs backwards');
      }
      members.push((point) => point >= low && point <= high);
    }
    this.#at++;
    const inside = this.#folding((point) => members.some((accepts) => accepts(point)));
    return isNegated ? (point) => !inside(point) : inside;
  }

  #classCharacter(): number {
    const character = this.#peek();
    if (character === '') return this.#fail('a class is not closed');
    this.#at++;
    return character === '\\' ? this.#characterEscape() : character.codePointAt(0)!;
  }

  #peek(ahead = 0): string {
    return this.#points[this.#at + ahead] ?? '';
  }

  /** The next `count` characters, without consuming them. */
  #next(count: number): string {
    return this.#points.slice(this.#at, this.#at + count).join('');
  }

  #fail(reason: string): never {
    const position = Math.min(this.#at, this.#points.length) + 1;
    throw new PatternError(`is not a regular expression of Go: ${reason} (character ${position})`);
  }
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

/**
 * The upper- and lower-case forms of a character, as far as each is a single character. Folding is applied twice,
 * because Go treats s, S and ſ as equal.
 */
function caseVariants(point: number): readonly number[] {
  const character = String.fromCodePoint(point);
  const variants = new Set([character.toLowerCase(), character.toUpperCase()]);
  for (const variant of [...variants]) variants.add(variant.toLowerCase()).add(variant.toUpperCase());
  return [...variants].filter((variant) => Array.from(variant).length === 1).map((variant) => variant.codePointAt(0)!);
}
