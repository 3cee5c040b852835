// Names of the demo's clusters: DNS labels, all different for any number of clusters.
const names = ['frankfurt', 'virginia', 'staging'];

/** Name of the demo cluster with that index. */
export function demoClusterName(index: number): string {
  return names[index] ?? `edge-${index - names.length + 1}`;
}
