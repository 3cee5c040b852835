// Why Leases of this process cannot be used. While one cannot, no replica does what it elects a leader for, and nothing
// else shows it: objects simply stay as they are.

export class LeaseFaults {
  readonly #faults = new Map<string, string>();

  /**
   * Notes the fault of a Lease, or that it can be used again.
   * @param lease `NAMESPACE/NAME`
   * @param what what the Lease elects a leader for, such as `join`
   */
  set(lease: string, what: string, fault: string | undefined): void {
    if (fault === undefined) this.#faults.delete(lease);
    else this.#faults.set(lease, `${what}: the Lease ${lease} cannot be used, so nothing is done: ${fault}`);
  }

  /** One text for each Lease that cannot be used. */
  list(): readonly string[] {
    return [...this.#faults.values()];
  }
}
