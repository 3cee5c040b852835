// The text editor (CodeMirror). This file is loaded only when a view shows YAML. The editor's style elements carry the
// page's nonce, since the page's Content-Security-Policy would block them without one.
import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands';
import { yaml } from '@codemirror/lang-yaml';
import {
  HighlightStyle,
  bracketMatching,
  foldGutter,
  foldKeymap,
  indentOnInput,
  syntaxHighlighting,
} from '@codemirror/language';
import { unifiedMergeView } from '@codemirror/merge';
import { search, searchKeymap } from '@codemirror/search';
import { EditorState } from '@codemirror/state';
import type { Extension } from '@codemirror/state';
import { EditorView, drawSelection, highlightActiveLine, keymap, lineNumbers } from '@codemirror/view';
import { tags } from '@lezer/highlight';
import { nonce } from '../parts/nonce.ts';

export interface Editor {
  close(): void;
}

export interface EditorOptions {
  readonly text: string;
  readonly before: string | undefined;
  readonly label: string;
  /** Called with the whole text at the start and after each change; undefined makes the editor read-only. */
  readonly onType: ((text: string) => void) | undefined;
}

const colours = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: 'var(--code-key)' },
  { tag: [tags.string, tags.special(tags.string)], color: 'var(--code-text)' },
  { tag: [tags.number, tags.bool, tags.null, tags.keyword, tags.atom], color: 'var(--code-value)' },
  { tag: tags.comment, color: 'var(--quiet)', fontStyle: 'italic' },
]);

const look = EditorView.theme({
  '&': { backgroundColor: 'var(--sunk)', color: 'var(--text)', fontSize: '13px' },
  '.cm-content': { fontFamily: 'var(--mono)', caretColor: 'var(--text)' },
  '.cm-gutters': { backgroundColor: 'var(--sunk)', color: 'var(--quiet)', border: 'none' },
  '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: 'var(--hover)' },
  '&.cm-focused .cm-selectionBackground, .cm-selectionBackground': { backgroundColor: 'var(--selected) !important' },
  '.cm-panels': { backgroundColor: 'var(--raised)', color: 'var(--text)' },
  '.cm-collapsedLines': { background: 'var(--hover)', color: 'var(--quiet)' },
  '.cm-collapsedLines::before, .cm-collapsedLines::after': { content: '""' },
  '.cm-deletedChunk': { backgroundColor: 'var(--bad-back)' },
  '&.cm-merge-b .cm-changedLine': { backgroundColor: 'var(--good-back)' },
});

/** Opens an editor with `text` inside of `parent`. With `before`, it shows how `text` differs from that. */
export function openEditor(parent: HTMLElement, { text, before, label, onType }: EditorOptions): Editor {
  const isRead = onType === undefined;
  const extensions: Extension[] = [
    EditorView.cspNonce.of(nonce()),
    lineNumbers(),
    foldGutter(),
    bracketMatching(),
    search({ top: true }),
    yaml(),
    syntaxHighlighting(colours),
    look,
    EditorView.lineWrapping,
    // The Tab key moves the focus out of the editor. If it indented the line, people who use only the keyboard could
    // not leave the editor.
    keymap.of([...defaultKeymap, ...searchKeymap, ...foldKeymap, ...(isRead ? [] : historyKeymap)]),
    EditorView.contentAttributes.of({ 'aria-label': label, ...(isRead && { tabindex: '0' }) }),
  ];
  if (isRead) extensions.push(EditorState.readOnly.of(true), EditorView.editable.of(false));
  else {
    extensions.push(history(), drawSelection(), highlightActiveLine(), indentOnInput());
    extensions.push(keymap.of([{ key: 'Ctrl-i', run: indentWithTab.run! }]));
    extensions.push(
      EditorView.updateListener.of(({ docChanged, state }) => void (docChanged && onType(state.doc.toString()))),
    );
  }
  if (before !== undefined) {
    extensions.push(
      unifiedMergeView({
        original: before,
        mergeControls: false,
        gutter: true,
        collapseUnchanged: { margin: 3, minSize: 6 },
      }),
    );
  }
  const view = new EditorView({ parent, state: EditorState.create({ doc: text, extensions }) });
  if (!isRead) {
    onType(text);
    view.focus();
  }
  return { close: () => view.destroy() };
}
