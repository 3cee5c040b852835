// The terminal (xterm) and the WebSocket behind it, in Kubernetes' own protocol: the first byte of each message names
// the channel. Loaded when a shell is opened.
import { FitAddon } from '@xterm/addon-fit';
import { Terminal } from '@xterm/xterm';
import { nonce } from '../parts/nonce.ts';
import { openSocket } from '../session/api.ts';

export interface Shell {
  close(): void;
}

const channels = { input: 0, output: 1, errors: 2, status: 3, size: 4 } as const;
/** A message on this period keeps proxies from ending a shell in which nothing happens. */
const keepAliveMs = 25_000;
/** bash where there is one. The exit code is that of the shell that ran. */
const command = ['sh', '-c', 'command -v bash >/dev/null 2>&1 && exec bash; exec sh'];

/**
 * Opens a shell in an element.
 * @param onEnd told once why it ended, in words
 */
export function openShell(parent: HTMLElement, path: string, container: string, onEnd: (why: string) => void): Shell {
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
  // Security: what runs in the container must not write to the clipboard of who looks at it.
  terminal.parser.registerOscHandler(52, () => true);
  terminal.attachCustomKeyEventHandler((event) => {
    if (!(event.ctrlKey && event.shiftKey && event.key.toLowerCase() === 'e')) return true;
    if (event.type === 'keydown') document.querySelector<HTMLElement>('.tools button')?.focus();
    return false;
  });
  const query = new URLSearchParams({ container, stdin: 'true', stdout: 'true', tty: 'true' });
  for (const word of command) query.append('command', word);
  const socket = openSocket(`${path}?${query}`, 'v5.channel.k8s.io');
  const send = (channel: number, text: string): void => {
    if (socket.readyState !== WebSocket.OPEN) return;
    const bytes = new TextEncoder().encode(text);
    const message = new Uint8Array(bytes.length + 1);
    message[0] = channel;
    message.set(bytes, 1);
    socket.send(message);
  };
  const sendSize = (): void => send(channels.size, JSON.stringify({ Width: terminal.cols, Height: terminal.rows }));
  let why = '';
  let isOver = false;
  const finish = (text: string): void => {
    if (isOver) return;
    isOver = true;
    clearInterval(keepAlive);
    terminal.options.disableStdin = true;
    onEnd(text);
  };
  const keepAlive = setInterval(sendSize, keepAliveMs);
  const resized = new ResizeObserver(() => fit.fit());
  resized.observe(parent);
  terminal.onData((text) => send(channels.input, text));
  terminal.onResize(sendSize);
  socket.addEventListener('open', () => {
    fit.fit();
    sendSize();
    terminal.focus();
  });
  socket.addEventListener('message', ({ data }: MessageEvent<ArrayBuffer>) => {
    const [channel, ...rest] = [new Uint8Array(data, 0, 1)[0]];
    void rest;
    const bytes = new Uint8Array(data, 1);
    if (channel === channels.output || channel === channels.errors) terminal.write(bytes);
    if (channel === channels.status) why = statusWords(new TextDecoder().decode(bytes));
  });
  socket.addEventListener('close', ({ reason }) =>
    finish(why || reason || 'The connection has ended. The gateway or the cluster may have refused it.'),
  );
  return {
    close() {
      isOver = true;
      clearInterval(keepAlive);
      resized.disconnect();
      socket.close();
      terminal.dispose();
    },
  };
}

interface ExecStatus {
  readonly status: string;
  readonly message?: string;
  readonly details?: { readonly causes?: readonly { readonly reason: string; readonly message: string }[] };
}

/** What the cluster says at the end, in words. */
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
 * Style elements that are made until the returned function is called get the nonce of the page. xterm makes some and
 * knows no nonce (xtermjs/xterm.js#4445).
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
