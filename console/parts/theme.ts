// The light or dark theme: that of the operating system until the user chooses one. The choice is stored in the
// browser's localStorage, the only thing that the console keeps there.
import { signal } from '@preact/signals';

const key = 'portcullis-theme';
const themes = ['system', 'light', 'dark'] as const;
export type Theme = (typeof themes)[number];

export const theme = signal<Theme>('system');

export function useSavedTheme(): void {
  const saved = localStorage.getItem(key) as Theme | null;
  if (saved !== null && themes.includes(saved)) theme.value = saved;
  theme.subscribe((now) => {
    document.documentElement.dataset['theme'] = now;
    if (now === 'system') localStorage.removeItem(key);
    else localStorage.setItem(key, now);
  });
}

export function nextTheme(): void {
  theme.value = themes[(themes.indexOf(theme.value) + 1) % themes.length]!;
}
