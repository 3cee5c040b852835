// Messages that troubleshooting.md quotes are texts of the program, word for word, so that a person who searches for
// one finds it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { productionFiles, textOf } from './sources.ts';

const page = textOf('docs/how-to/troubleshooting.md');
const code = productionFiles.map((file) => textOf(file).replaceAll("\\'", "'")).join('\n');

/** Texts of kubectl and the hub's aggregator, which are not ours to keep. */
const foreign = ['Error from server (NotFound): ', 'error trying to reach service: …'];

/** How far apart in the sources the pieces of one message may be. */
const messageLength = 400;

/** Whether the program has this text; `…` is whatever a template puts there. */
function isSaid(quoted: string): boolean {
  const pieces = quoted.split('…').filter((piece) => piece.trim() !== '');
  const anchor = pieces.toSorted((one, other) => other.length - one.length)[0]!;
  for (let at = code.indexOf(anchor); at >= 0; at = code.indexOf(anchor, at + 1)) {
    const around = code.slice(Math.max(0, at - messageLength), at + messageLength);
    let from = 0;
    const found = pieces.every((piece) => {
      const index = around.indexOf(piece, from);
      from = index + piece.length;
      return index >= 0;
    });
    if (found) return true;
  }
  return false;
}

test('every text quoted for troubleshooting is still a text of the program', () => {
  const quoted = [...page.matchAll(/^### `(.+)`$/gm)].map(([, text]) => text!);
  assert.ok(quoted.length > 35);
  const ours = quoted.filter((text) => !foreign.some((start) => text.startsWith(start)));
  assert.deepEqual(
    ours.filter((text) => !isSaid(text)),
    [],
  );
});

test('a text that the program does not have is noticed', () => {
  assert.ok(isSaid('cluster "…" not found') && isSaid('… is not indexed of …; --index-resources chooses what is, …'));
  for (const text of ['cluster "…" has run away', 'connection refused by … again', '… is not indexed of … at all'])
    assert.ok(!isSaid(text), text);
});
