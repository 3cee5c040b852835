// The error for a template that cannot be parsed or rendered.

/**
 * Thrown when a template cannot be parsed or rendered. The message is meant for the author of the template and contains
 * no data of the objects that the template reads.
 */
export class TemplateError extends Error {
  override readonly name = 'TemplateError';
}

/**
 * Thrown when a rendering takes more steps or time than is allowed. Code that renders a policy's templates for many
 * objects stops after some of these errors.
 */
export class TemplateTooDear extends TemplateError {}
