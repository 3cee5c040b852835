// Where the page begins.
import { render } from 'preact';
import { App } from './app.tsx';
import { followLinks } from './route.ts';
import { startSession } from './session/session.ts';
import { useSavedTheme } from './parts/theme.ts';

useSavedTheme();
followLinks();
render(<App />, document.body);
void startSession();
