// Shows the conditions of an object, each with a colour and shape for good or bad.
import type { JSX } from 'preact';
import type { Condition } from '../api/kube.ts';
import { Age, State } from './parts.tsx';
import type { Tone } from './parts.tsx';

/** Types of conditions for which `True` is bad, such as `MemoryPressure`. */
const badWhenTrue = /Overprivileged|Pressure|Failure|Degraded|Terminating|Unavailable|Stalled|NamesNotAccepted/;

export function Conditions({ conditions }: { conditions: readonly Condition[] }): JSX.Element | null {
  if (conditions.length === 0) return null;
  const toneFor = ({ type, status }: Condition): Tone => {
    if (status === 'Unknown') return 'warn';
    if (badWhenTrue.test(type)) return status === 'True' ? 'warn' : 'quiet';
    return status === 'True' ? 'good' : 'bad';
  };
  return (
    <>
      <h3>Conditions</h3>
      <ul class="conditions">
        {conditions.map((condition) => (
          <li key={condition.type}>
            <State tone={toneFor(condition)}>
              {condition.type}: {condition.status}
            </State>
            <span class="quiet">
              {' '}
              {condition.reason} {condition.lastTransitionTime && <Age since={condition.lastTransitionTime} />}
            </span>
            {condition.message && <p>{condition.message}</p>}
          </li>
        ))}
      </ul>
    </>
  );
}
