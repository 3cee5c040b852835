// What is special about the YAML of kubeconfigs.
import { isScalar, type LineCounter, visit, type Document } from 'yaml';
import { filledDocuments } from './go-yaml.ts';

/**
 * The documents of a kubeconfig that hold something. Every scalar is a text,
 * exactly as it is written: `token: 0123` is the token "0123" and not the number 83. Flags and extensions keep their
 * YAML type.
 * @throws YamlFault
 */
export function kubeconfigDocuments(text: string, lines: LineCounter): readonly Document.Parsed[] {
  const documents = filledDocuments(text, lines);
  for (const document of documents) keepWrittenScalars(document);
  return documents;
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
