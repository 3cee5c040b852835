// Names of the demo's clusters. Easy to get wrong: they are DNS labels and must differ for any number of clusters.
const names = ['frankfurt', 'virginia', 'staging'];

/** Name of the demo cluster with that index. */
export function demoClusterName(index: number): string {
  return names[index] ?? `edge-${index - names.length + 1}`;
}
