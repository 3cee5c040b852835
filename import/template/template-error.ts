// What is thrown when a template cannot be read or run.

/** The template cannot be read, or failed while it ran. The message is meant for its author and holds no data. */
export class TemplateError extends Error {
  override readonly name = 'TemplateError';
}
