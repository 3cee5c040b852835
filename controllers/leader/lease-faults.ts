// Collects why Leases that this process needs cannot be used, for readyz. While a Lease cannot be used, there may be no
// leader, and the objects of its controller simply stay as they are, without any other sign of the fault.

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

  /** Returns one text with the reason for each Lease that cannot be used. */
  list(): readonly string[] {
    return [...this.#faults.values()];
  }
}
