// Opens a terminal (xterm) and the WebSocket to a container's shell, by the protocol of `kubectl exec`: the first byte
// of each message names the channel. Loaded only when somebody opens a shell.
import { FitAddon } from '@xterm/addon-fit';
import { Terminal } from '@xterm/xterm';
import { nonce } from '../parts/nonce.ts';
import { openSocket } from '../session/api.ts';

export interface Shell {
  close(): void;
}

const channels = { input: 0, output: 1, errors: 2, status: 3, size: 4 } as const;
/** Milliseconds between messages with the size of the terminal, since proxies end connections without traffic. */
const keepAliveMs = 25_000;
/** Runs bash if the container has it, otherwise sh. The exit code is that of the shell. */
const command = ['sh', '-c', 'command -v bash >/dev/null 2>&1 && exec bash; exec sh'];

/**
 * Opens a shell in an element of the page.
 * @param onEnd called once with the reason why the shell ended, in words
 */
export function openShell(parent: HTMLElement, path: string, container: string, onEnd: (why: string) => void): Shell {
  const { terminal, fit } = openTerminal(parent);
  const query = new URLSearchParams({ container, stdin: 'true', stdout: 'true', tty: 'true' });
  for (const word of command) query.append('command', word);
  const socket = openSocket(`${path}?${query}`, 'v5.channel.k8s.io');
  const send = (channel: number, text: string): void => {
    if (socket.readyState === WebSocket.OPEN) socket.send(new Uint8Array([channel, ...new TextEncoder().encode(text)]));
  };
  const sendSize = (): void => send(channels.size, JSON.stringify({ Width: terminal.cols, Height: terminal.rows }));
  const keepAlive = setInterval(sendSize, keepAliveMs);
  const resized = new ResizeObserver(() => fit.fit());
  resized.observe(parent);
  terminal.onData((text) => send(channels.input, text));
  terminal.onResize(sendSize);
  let why = '';
  let isClosed = false;
  socket.addEventListener('open', () => {
    fit.fit();
    sendSize();
    terminal.focus();
  });
  socket.addEventListener('message', ({ data }: MessageEvent<ArrayBuffer>) => {
    const [channel] = new Uint8Array(data, 0, 1);
    const bytes = new Uint8Array(data, 1);
    if (channel === channels.output || channel === channels.errors) terminal.write(bytes);
    if (channel === channels.status) why = statusWords(new TextDecoder().decode(bytes));
  });
  socket.addEventListener('close', ({ reason }) => {
    if (isClosed) return;
    clearInterval(keepAlive);
    terminal.options.disableStdin = true;
    onEnd(why || reason || 'The connection has ended. The gateway or the cluster may have refused it.');
  });
  return {
    close() {
      isClosed = true;
      clearInterval(keepAlive);
      resized.disconnect();
      socket.close();
      terminal.dispose();
    },
  };
}

function openTerminal(parent: HTMLElement): { readonly terminal: Terminal; readonly fit: FitAddon } {
  const restore = stampStyles();
  const terminal = new Terminal({
    screenReaderMode: true,
    fontFamily: 'ui-monospace, monospace',
    fontSize: 13,
    theme: { background: '#14171c' },
  });
  const fit = new FitAddon();
  terminal.loadAddon(fit);
  terminal.open(parent);
  restore();
  // Security: a program in the container must not write to the clipboard of the person who looks at the terminal.
  terminal.parser.registerOscHandler(52, () => true);
  terminal.attachCustomKeyEventHandler((event) => {
    if (!(event.ctrlKey && event.shiftKey && event.key.toLowerCase() === 'e')) return true;
    if (event.type === 'keydown') document.querySelector<HTMLElement>('.tools button')?.focus();
    return false;
  });
  return { terminal, fit };
}

interface ExecStatus {
  readonly status: string;
  readonly message?: string;
  readonly details?: { readonly causes?: readonly { readonly reason: string; readonly message: string }[] };
}

/** Returns a sentence for the status that the cluster sends when the command has ended. */
export function statusWords(text: string): string {
  try {
    const { status, message, details } = JSON.parse(text) as ExecStatus;
    if (status === 'Success') return 'ended with exit code 0';
    const code = details?.causes?.find(({ reason }) => reason === 'ExitCode')?.message;
    return code === undefined ? (message ?? text) : `ended with exit code ${code}`;
  } catch {
    return text;
  }
}

/**
 * Gives the page's nonce to all style elements that are created until the returned function is called. xterm creates
 * some and cannot be given a nonce (xtermjs/xterm.js#4445).
 */
function stampStyles(): () => void {
  const create = document.createElement.bind(document);
  const stamped = (name: string, options?: ElementCreationOptions): HTMLElement => {
    const element = create(name, options);
    if (name === 'style') element.nonce = nonce();
    return element;
  };
  document.createElement = stamped as typeof document.createElement;
  return () => {
    document.createElement = create;
  };
}
