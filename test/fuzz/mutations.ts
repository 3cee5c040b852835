// Makes texts out of a corpus and a list of words: cuts, doubles, swaps, splices. The choice is a list of numbers, so
// that fast-check can make a failing case smaller by leaving numbers out.
import * as fc from 'fast-check';

/** Texts of latin1 characters, one a byte, unless `words` holds others. */
export function mutatedTexts(corpus: readonly string[], words: readonly string[]): fc.Arbitrary<string> {
  const seeds = corpus.length > 0 ? corpus : [''];
  return fc
    .array(fc.noBias(fc.nat(0x7fff_ffff)), { minLength: 1, maxLength: 19, size: 'max' })
    .map((numbers) => mutate(seeds, words, numbers));
}

const longestBytes = 60_000;

/** The first number picks a text of the corpus, every three more change it once. */
function mutate(seeds: readonly string[], words: readonly string[], numbers: readonly number[]): string {
  return changed(seeds[numbers[0]! % seeds.length]!, seeds, words, numbers.slice(1));
}

/** A text, changed once for every three numbers. */
export function changed(
  whole: string,
  seeds: readonly string[],
  words: readonly string[],
  numbers: readonly number[],
): string {
  let text = whole;
  for (let i = 0; i + 2 < numbers.length; i += 3) {
    const at = numbers[i + 1]! % (text.length + 1);
    text = change(text, numbers[i]!, at, numbers[i + 2]!, seeds, words);
  }
  return text.length > longestBytes ? text.slice(0, longestBytes) : text;
}

function change(
  text: string,
  kind: number,
  at: number,
  choice: number,
  seeds: readonly string[],
  words: readonly string[],
): string {
  const word = words[choice % words.length]!;
  const before = text.slice(0, at);
  switch (kind % 12) {
    case 0:
    case 1:
    case 2:
      return before + word + text.slice(at);
    case 3:
    case 4:
      return before + word + text.slice(at + word.length);
    case 5:
      return before + text.slice(at + 1 + (choice % 8));
    case 6:
      return before + String.fromCharCode(choice & 0xff) + text.slice(at + 1);
    case 7:
      return before + String.fromCharCode(choice & 0xff) + text.slice(at);
    case 8: {
      // A piece once more, somewhere else.
      const from = choice % (text.length + 1);
      return before + text.slice(from, from + 1 + ((choice >> 8) % 24)) + text.slice(at);
    }
    case 9: {
      const other = seeds[choice % seeds.length]!;
      return before + other.slice((choice >> 8) % (other.length + 1));
    }
    case 10:
      return (
        text.slice(0, at) + String.fromCharCode(text.charCodeAt(at) ^ (1 << (choice & 7)) || 0) + text.slice(at + 1)
      );
    default:
      // Now and then very often: what is quadratic shows.
      return before + word.repeat((choice & 0x3f00) === 0 ? 1 + (choice % 4096) : 1 + (choice % 4)) + text.slice(at);
  }
}

/** Texts of any kind: words, other scripts, lone surrogates, control characters. */
export function oddTexts(words: readonly string[]): fc.Arbitrary<string> {
  const odd = [' ', '\t', '\r\n', '\n', '\0', '\u007f', '\u2028', '\ud800', '\u010a'];
  const all = [...odd, 'é', '用户', '😀', '', ...words, ...words, ...words];
  return fc.array(fc.nat(0xffff), { maxLength: 4, size: 'max' }).map((numbers) => {
    let text = '';
    for (const number of numbers)
      text += (number & 7) !== 0 ? all[(number >> 3) % all.length]! : String.fromCharCode(number);
    return text;
  });
}
