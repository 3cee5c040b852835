// A page for developers of the console. It shows the components of all views in every state, to check them in the light
// and the dark theme.
import type { JSX } from 'preact';
import { useTitle } from '../live/resource.ts';
import { CommandLine, Loading, Notice, Pairs, Problem, State, Text, Warnings } from '../parts/parts.tsx';
import type { Tone } from '../parts/parts.tsx';
import { ApiError } from '../api/api.ts';

const tokens = [
  'back',
  'raised',
  'sunk',
  'hover',
  'selected',
  'line',
  'text',
  'quiet',
  'accent',
  'good',
  'busy',
  'warn',
  'bad',
];
const tones: readonly (readonly [Tone, string])[] = [
  ['good', 'Running'],
  ['busy', 'Pending'],
  ['warn', 'Unknown'],
  ['bad', 'CrashLoopBackOff'],
  ['quiet', 'no'],
];
const statuses = [0, 401, 403, 404, 409, 429, 503];

export function DesignPage(): JSX.Element {
  useTitle(() => 'Design');
  return (
    <section class="page">
      <h1>Design</h1>
      <p>
        Calm, dense, legible. One accent; how something is, is said by a word and a shape, and only then by a colour.
      </p>
      <h2>Colours</h2>
      <ul class="swatches">
        {tokens.map((name) => (
          <li key={name}>
            <span class="swatch" style={{ background: `var(--${name})` }} />
            <code>--{name}</code>
          </li>
        ))}
      </ul>
      <h2>States</h2>
      <p>
        {tones.map(([tone, word]) => (
          <State key={tone} tone={tone}>
            {word}
          </State>
        ))}
      </p>
      <h2>Controls</h2>
      <Controls />
      <h2>Lines to copy</h2>
      <CommandLine line="kubectl --context portcullis-all get pods -A -l app=web" />
      <h2>Facts</h2>
      <Pairs
        rows={[
          ['Name', 'web-7d9f'],
          ['Labels', [<code key="a">app=web</code>, <code key="b">tier=front</code>]],
          ['Page', <Text key="page">https://example.com/runbook</Text>],
        ]}
      />
      <h2>Notices</h2>
      {tones.map(([tone]) => (
        <Notice key={tone} tone={tone} title={`A ${tone} notice`}>
          <p>What it means, and what to do next.</p>
        </Notice>
      ))}
      <Loading what="something" />
      <Warnings texts={['cluster "staging" has not been confirmed for 40 s', 'cluster "edge-1" is not indexed yet']} />
      <h2>Refusals</h2>
      {statuses.map((status) => (
        <Problem
          key={status}
          error={new ApiError(status, { message: 'In the words of the gateway.', reason: 'Reason' }, 'f0a1-22')}
        />
      ))}
    </section>
  );
}

function Controls(): JSX.Element {
  return (
    <div class="tools">
      <button type="button" class="main">
        The one thing to do
      </button>
      <button type="button">Something else</button>
      <button type="button" class="danger">
        Something dear
      </button>
      <button type="button" disabled>
        Not now
      </button>
      <button type="button" class="small">
        Small
      </button>
      <label>
        Choice{' '}
        <select>
          <option>one</option>
          <option>two</option>
        </select>
      </label>
      <label>
        <input type="checkbox" checked /> yes
      </label>
      <input aria-label="Text" placeholder="text" />
      <a href="/console/design">a link</a>
    </div>
  );
}
