// Opens a terminal (xterm) and a WebSocket to a shell in a container, by the protocol of `kubectl exec`: the first byte
// of each message is the number of the channel. This file is loaded only when the user opens a shell.
import { FitAddon } from '@xterm/addon-fit';
import { Terminal } from '@xterm/xterm';
import { nonce } from '../parts/nonce.ts';
import { openSocket } from '../api/api.ts';

export interface Shell {
  close(): void;
}

const channels = { input: 0, output: 1, errors: 2, status: 3, size: 4 } as const;
/**
 * Every so many milliseconds the size of the terminal is sent, only to keep the connection open: proxies close
 * connections without traffic.
 */
const keepAliveMs = 25_000;
/** Starts bash if the container has it, otherwise sh. `exec` makes the exit code that of the shell. */
const command = ['sh', '-c', 'command -v bash >/dev/null 2>&1 && exec bash; exec sh'];

/**
 * Opens a shell in an element of the page. What is typed before the connection is open is sent when it is.
 * @param on `open` is called when the shell runs, `end` once when it has ended, with the reason as text
 */
export function openShell(
  parent: HTMLElement,
  path: string,
  container: string,
  on: { readonly open: () => void; readonly end: (why: string) => void },
): Shell {
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
  let early = '';
  terminal.onData((text) => {
    if (socket.readyState === WebSocket.CONNECTING) early += text;
    else send(channels.input, text);
  });
  terminal.onResize(sendSize);
  let why = '';
  let isClosed = false;
  socket.addEventListener('open', () => {
    fit.fit();
    sendSize();
    if (early !== '') send(channels.input, early);
    terminal.focus();
    on.open();
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
    on.end(why || reason || 'The connection has ended. The gateway or the cluster may have refused it.');
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
  // Security: OSC 52 lets a program in the container write to the clipboard of the person at the terminal.
  terminal.parser.registerOscHandler(52, () => true);
  // OSC 8 lets a program show a link whose text is another address than its target.
  terminal.parser.registerOscHandler(8, () => true);
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

/** Returns a text for the `Status` that the cluster sends when the command has ended. */
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
 * style elements and has no option for a nonce (xtermjs/xterm.js#4445).
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
