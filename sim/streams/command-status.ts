// How a client learns the end of an exec or attach: a `metav1.Status` on the error stream (remotecommand v4 and v5),
// or a line of text before that. Success is a Status too: without one kubectl waits or reports a broken protocol.

/** The end of a command. */
export type CommandEnd =
  | { readonly kind: 'exit'; readonly code: number }
  /** It could not be started, or the runtime failed. */
  | { readonly kind: 'fault'; readonly message: string };

/** The Status as cri-streaming and kubelet word it. */
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

/** Bytes for the error stream in the given protocol version (1 to 5); none when there is nothing to say. */
export function errorStreamBytes(end: CommandEnd, version: number): Buffer | undefined {
  const status = statusOf(end);
  if (version >= 4) return Buffer.from(JSON.stringify(status));
  return status['status'] === 'Success' ? undefined : Buffer.from(String(status['message']));
}
