// The functions urlParse and urlquery (sprig's url.go, net/url).
import { TemplateError } from '../values/template-error.ts';
import { textOf, bytesOf } from '../values/values.ts';
import { fixed, variadic, type Functions } from './callable.ts';
import { sprint } from './format.ts';

const parts = /^(?:([a-zA-Z][a-zA-Z0-9+.-]*):)?(?:\/\/([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?$/s;

function parsed(url: string): ReadonlyMap<string, string> {
  const [, scheme = '', authority, path = '', query = '', fragment = ''] = parts.exec(url)!;
  // net/url accepts blanks in a path. It accepts a colon in the first segment of a path only after a scheme.
  const isBad = /[\0-\x1f\x7f]/.test(url) || /[ <>"]/.test(authority ?? '') || (scheme === '' && /^[^/]*:/.test(path));
  if (isBad) throw new TemplateError('the URL cannot be read');
  const at = (authority ?? '').lastIndexOf('@');
  const host = (authority ?? '').slice(at + 1);
  const isOpaque = scheme !== '' && authority === undefined && path !== '' && !path.startsWith('/');
  return new Map([
    ['scheme', scheme.toLowerCase()],
    ['host', host],
    ['hostname', host.replace(/:\d*$/, '').replace(/^\[(.*)\]$/, '$1')],
    ['path', isOpaque ? '' : unescaped(path)],
    ['query', query],
    ['opaque', isOpaque ? path : ''],
    ['fragment', unescaped(fragment)],
    ['userinfo', at < 0 ? '' : authority!.slice(0, at)],
  ]);
}

function unescaped(text: string): string {
  if (/%(?![0-9a-fA-F]{2})/.test(text))
    throw new TemplateError('the URL cannot be read: a % is not followed by two hexadecimal digits');
  return text.replace(/%([0-9a-fA-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}

export const urls: Functions = {
  urlParse: fixed(['string'], ([url]) => parsed(url)),
  urlquery: variadic([], 'any', (_, args, budget) =>
    bytesOf(
      encodeURIComponent(textOf(sprint(args, budget)).toWellFormed())
        .replaceAll('%20', '+')
        .replaceAll(/[!'()*]/g, (c) => `%${c.codePointAt(0)!.toString(16).toUpperCase()}`),
    ),
  ),
};
