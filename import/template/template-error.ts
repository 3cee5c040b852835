// The error for a template that cannot be parsed or rendered.

/**
 * The template cannot be parsed, or rendering failed. The message is meant for the author of the template and contains
 * no data.
 */
export class TemplateError extends Error {
  override readonly name = 'TemplateError';
}
