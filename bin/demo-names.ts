// Names of the demo's clusters. They are valid DNS labels and all different, whatever the number of clusters.
const names = ['frankfurt', 'virginia', 'staging'];

/** Name of the demo's cluster with this index, which begins at 0. */
export function demoClusterName(index: number): string {
  return names[index] ?? `edge-${index - names.length + 1}`;
}
