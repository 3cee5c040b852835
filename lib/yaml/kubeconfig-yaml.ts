// Parses the YAML of kubeconfigs, in which scalars such as tokens keep their text.
import { isScalar, type LineCounter, visit, type Document } from 'yaml';
import { onlyDocument } from './go-yaml.ts';

/**
 * Parses a kubeconfig; undefined when the text is empty. Every scalar is read as text, exactly as it is written:
 * `token: 0123` is the token "0123" and not the octal number 83. Flags and extensions keep their YAML type.
 * @param lines is told where lines begin
 * @throws YamlFault
 */
export function kubeconfigDocument(text: string, lines: LineCounter): Document.Parsed | undefined {
  const document = onlyDocument(text, lines);
  if (document !== undefined) keepWrittenScalars(document);
  return document;
}

const typed: ReadonlySet<unknown> = new Set([
  'extensions',
  'insecure-skip-tls-verify',
  'disable-compression',
  'provideClusterInfo',
]);

function keepWrittenScalars(document: Document): void {
  visit(document, {
    Pair: (_, { key }) => (isScalar(key) && typed.has(key.value) ? visit.SKIP : undefined),
    Scalar: (_, node) => {
      if (typeof node.value === 'string' || node.value === null || node.source === undefined) return;
      node.value = node.source;
    },
  });
}
