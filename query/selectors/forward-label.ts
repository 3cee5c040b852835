// The label `search.clusterpedia.io/forward` in a selector sends a list or watch to the member cluster instead of the
// index. A selector that cannot be parsed is returned unchanged. The member or the index, whichever answers the
// request, then refuses the selector.
import { parseLabelSelector, printLabelSelector } from './label-selector.ts';
import { flagValue } from './search-labels.ts';

const forwardLabel = 'search.clusterpedia.io/forward';

/**
 * Removes the forward label from a label selector, and says whether the label was set to true. A selector without the
 * label is returned unchanged.
 * @throws GatewayError BAD_REQUEST when the label is used with an operator that makes no sense for a flag
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
