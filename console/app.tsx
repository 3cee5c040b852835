// The app: header and navigation around every view, and the choice of the view that the address names.
import { useSignalEffect } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useErrorBoundary, useRef } from 'preact/hooks';
import { readObjectPlace } from './api/kube.ts';
import { kinds, loadKinds } from './live/kinds.ts';
import { AccessPage } from './pages/access.tsx';
import { ClustersPage } from './pages/clusters.tsx';
import { DesignPage } from './pages/design.tsx';
import { HealthPage } from './pages/health.tsx';
import { LoginPage } from './pages/login.tsx';
import { ObjectPage } from './pages/object.tsx';
import { SearchPage } from './pages/search.tsx';
import { WorksPage, worksKind } from './pages/works.tsx';
import { KeysDialog, useKeys } from './parts/keys.tsx';
import { Loading, Notice } from './parts/parts.tsx';
import { nextTheme, theme } from './parts/theme.ts';
import { address, go, place } from './api/route.ts';
import { reconnects } from './api/api.ts';
import { checkBuild, outdated } from './session/own-build.ts';
import { obstacle, renewNow } from './session/renewal.ts';
import { end, goToProvider, session, starting } from './session/session.ts';

const pages = [
  ['clusters', 'Clusters'],
  ['search', 'Search'],
  ['works', 'Works'],
  ['access', 'Access'],
  ['health', 'Health'],
] as const;

export function App(): JSX.Element {
  useKeys();
  const [broken, repair] = useErrorBoundary((error) => void setTimeout(() => reportError(error)));
  const { segments } = place.value;
  const view = segments.join('/');
  // Clears the caught error when the view changes, so that one broken view does not hide the next.
  useEffect(() => repair(), [view]);
  useSignalEffect(() => void (reconnects.value > 0 && checkBuild()));
  // The navigation offers the view of ManifestWorks only if the index has that kind, so the kinds are read after login.
  useSignalEffect(() => void (session.value !== undefined && loadKinds().catch(() => undefined)));
  const isOpen = segments[0] === 'design';
  return (
    <>
      <a
        class="skip"
        href="#main"
        onClick={(event) => (event.preventDefault(), document.querySelector<HTMLElement>('main')?.focus())}
      >
        Skip to the content
      </a>
      <Header current={segments[0] === undefined ? 'clusters' : segments[0] === 'c' ? 'search' : segments[0]} />
      {session.value !== undefined && <Renewal />}
      {outdated.value && (
        <Notice tone="warn" title="The gateway has a newer console">
          <button type="button" onClick={() => location.reload()}>
            Load it
          </button>
        </Notice>
      )}
      <main tabIndex={-1} id="main">
        {broken ? (
          <Notice tone="bad" title="This view has failed">
            <p>{String(broken)}</p>
            <button type="button" onClick={repair}>
              Show it again
            </button>
          </Notice>
        ) : starting.value ? (
          <Loading what="the console" />
        ) : session.value === undefined && !isOpen ? (
          <LoginPage />
        ) : (
          <View />
        )}
      </main>
      <KeysDialog />
    </>
  );
}

/** Shows a notice when the login cannot be renewed, and what the user can do. */
function Renewal(): JSX.Element | null {
  if (obstacle.value === 'none') return null;
  const isDown = obstacle.value === 'unreachable';
  return (
    <Notice tone="warn" title={isDown ? 'The identity provider does not answer' : 'Your login ends within a minute'}>
      {isDown && <p>Your login cannot be renewed until it does. It is asked again every few seconds.</p>}
      <button type="button" onClick={() => void (isDown ? renewNow() : goToProvider())}>
        {isDown ? 'Try now' : 'Log in again and come back here'}
      </button>
    </Notice>
  );
}

/**
 * Whether the navigation offers a view. The view of ManifestWorks is left out when the index has none that the user may
 * see.
 */
function isOffered([path]: (typeof pages)[number]): boolean {
  return path !== 'works' || (kinds.value ?? []).some(({ id }) => id === worksKind);
}

function Header({ current }: { current: string }): JSX.Element {
  const nav = useRef<HTMLElement>(null);
  const known = session.value;
  return (
    <header>
      <a class="brand" href={address([])} aria-label="Portcullis, clusters">
        <svg viewBox="0 0 16 16" aria-hidden="true">
          <path d="M8 0a7 7 0 0 0-7 7v9h2v-3h2v3h2v-3h2v3h2v-3h2v3h2V7a7 7 0 0 0-7-7Zm-5 9h2v2H3V9Zm4 0h2v2H7V9Zm4 0h2v2h-2V9ZM3 7a5 5 0 0 1 2-4v4H3Zm4-5h2v5H7V2Zm4 1a5 5 0 0 1 2 4h-2V3Z" />
        </svg>
        <span>Portcullis</span>
      </a>
      {known !== undefined && (
        <nav ref={nav} aria-label="Views">
          {pages.filter(isOffered).map(([path, title]) => (
            <a key={path} href={address([path])} aria-current={current === path ? 'page' : undefined}>
              {title}
            </a>
          ))}
        </nav>
      )}
      <div class="who">
        <button type="button" class="plain" onClick={nextTheme} title="Light or dark">
          Theme: {theme.value}
        </button>
        {known !== undefined && (
          <>
            <a href={address(['access'])} title={`Logged in by ${known.way}`}>
              {known.identity.username}
            </a>
            <button type="button" class="plain" onClick={() => end('')}>
              Log out
            </button>
          </>
        )}
      </div>
    </header>
  );
}

function View(): JSX.Element {
  const { segments } = place.value;
  const [first] = segments;
  const object = readObjectPlace(segments);
  if (object !== undefined) return <ObjectPage key={segments.join('/')} place={object} />;
  if (first === undefined || first === 'clusters') return <ClustersPage />;
  if (first === 'search') return <SearchPage />;
  if (first === 'works') return <WorksPage />;
  if (first === 'access') return <AccessPage />;
  if (first === 'health') return <HealthPage />;
  if (first === 'design') return <DesignPage />;
  return (
    <Notice tone="warn" title="There is no such view">
      <p>The address leads nowhere.</p>
      <button type="button" onClick={() => go(address(['clusters']))}>
        Show the clusters
      </button>
    </Notice>
  );
}
