// Entry point of the console: draws the app into the page and starts the session.
import { render } from 'preact';
import { App } from './app.tsx';
import { followLinks } from './api/route.ts';
import { startSession } from './session/session.ts';
import { useSavedTheme } from './parts/theme.ts';

useSavedTheme();
followLinks();
render(<App />, document.body);
void startSession();
