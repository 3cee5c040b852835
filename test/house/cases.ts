// Names of tests and the ids they end in, as the pages of cases quote them.

function named(text: string, forms: string): readonly string[] {
  const form = new RegExp(String.raw`\b(?:${forms})\(\s*(["'\`])(.*?)\1,`, 'gs');
  return [...text.matchAll(form)].map(([, , name]) => name!.replaceAll(/\$\{[^}]*\}/g, '…').replaceAll("\\'", "'"));
}

/** Names of the tests in a file's text; whatever a template puts in is `…`. */
export function testNames(text: string): readonly string[] {
  return named(text, 'test|it');
}

/** Names of tests, and of groups of them. */
export function titles(text: string): readonly string[] {
  return named(text, 'test|it|describe|suite');
}

/** What stands in the brackets at the end of a test's name: ids, if it has any. */
export function idsOfName(name: string): readonly string[] {
  return (/\(([^()]*)\)$/.exec(name)?.[1] ?? '').split(', ');
}
