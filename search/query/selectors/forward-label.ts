// The label by which a list or watch asks for the member itself instead of the index. A selector that cannot be read is
// left as it is, and the component that answers refuses it.
import { parseLabelSelector, printLabelSelector } from './label-selector.ts';
import { flagValue } from './search-labels.ts';

const forwardLabel = 'search.clusterpedia.io/forward';

/**
 * A label selector without the label, and whether it asked for that. Without the label the text is unchanged.
 * @throws GatewayError BAD_REQUEST for the label with an operator that no flag has
 */
export function takeForwardLabel(selector: string): { readonly selector: string; readonly forward: boolean } {
  if (!selector.includes(forwardLabel)) return { selector, forward: false };
  let requirements;
  try {
    requirements = parseLabelSelector(selector);
  } catch {
    return { selector, forward: false };
  }
  const asked = requirements.filter(({ key }) => key === forwardLabel);
  if (asked.length === 0) return { selector, forward: false };
  const others = requirements.filter(({ key }) => key !== forwardLabel);
  return { selector: printLabelSelector(others), forward: flagValue(asked) === true };
}
