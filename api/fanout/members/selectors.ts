// Field selectors of the gateway's own API, which know only the name of an object.
import { GatewayError } from '../../../model/errors.ts';

const nameTerm = /^metadata\.name(==|=|!=)([^\s!=]*)$/;

/**
 * Parses a field selector and returns a test of an object's name. `metadata.name` is the only supported field.
 * @throws GatewayError BAD_REQUEST for any other field
 */
export function nameMatcher(selector: string): (name: string) => boolean {
  const terms = selector
    .split(',')
    .map((term) => term.trim())
    .filter((term) => term !== '');
  const tests = terms.map((term) => {
    const match = nameTerm.exec(term);
    if (match === null)
      throw new GatewayError('BAD_REQUEST', `field selector "${term}" is not supported: only metadata.name is`);
    return (name: string) => (name === match[2]) === (match[1] !== '!=');
  });
  return (name) => tests.every((test) => test(name));
}
