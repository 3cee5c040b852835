// Tells the client how an exec or attach has ended: with a `metav1.Status` on the error stream (remotecommand v4 and
// v5). Success is sent as a Status, too: without a Status, kubectl waits, or reports a protocol error.

/** How a command has ended: with an exit code, or because it could not run. */
export type CommandEnd =
  | { readonly kind: 'exit'; readonly code: number }
  /** The command could not be started, or the container runtime failed. */
  | { readonly kind: 'fault'; readonly message: string };

/** The Status for the end of a command, with the messages of cri-streaming and kubelet. */
export function statusOf(end: CommandEnd): Readonly<Record<string, unknown>> {
  if (end.kind === 'fault') {
    const message = `Internal error occurred: ${end.message}`;
    return { metadata: {}, status: 'Failure', message, reason: 'InternalError', code: 500 };
  }
  if (end.code === 0) return { metadata: {}, status: 'Success' };
  return {
    metadata: {},
    status: 'Failure',
    message: `command terminated with non-zero exit code: exit status ${end.code}`,
    reason: 'NonZeroExitCode',
    details: { causes: [{ reason: 'ExitCode', message: String(end.code) }] },
  };
}
