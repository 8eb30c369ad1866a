// The interfaces of Standard Schema 1.1 (https://standardschema.dev) that a tool reads, so that no schema library is a
// dependency: Zod, Valibot, ArkType and others implement them.

/** A schema that validates a value, and says so in its types. */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly '~standard': StandardProps<Input, Output>;
}

interface StandardProps<Input, Output> {
  readonly version: 1;
  readonly vendor: string;
  readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  readonly validate: (value: unknown) => Validated<Output> | Promise<Validated<Output>>;
  /** Standard JSON Schema; absent in libraries without it. May throw for a schema that JSON Schema cannot express. */
  readonly jsonSchema?: {
    readonly input: (options: { readonly target: 'draft-2020-12' }) => Readonly<Record<string, unknown>>;
  };
}

type Validated<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] };

export interface SchemaIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** What a schema accepts. */
export type InputOf<Schema extends StandardSchema> = NonNullable<Schema['~standard']['types']>['input'];

/** What a schema makes of what it accepts. */
export type OutputOf<Schema extends StandardSchema> = NonNullable<Schema['~standard']['types']>['output'];

/** True for a schema of a library; some are functions. False for a plain JSON Schema. */
export const isStandardSchema = (value: unknown): value is StandardSchema =>
  ((typeof value === 'object' && value !== null) || typeof value === 'function') &&
  '~standard' in value &&
  typeof (value as StandardSchema)['~standard'].validate === 'function';

/** One line for each fault, with the path of the value: what a model needs to correct its call. */
export const describeIssues = (issues: readonly SchemaIssue[]): string =>
  issues
    .slice(0, ISSUES_TOLD_MAX)
    .map(({ message, path = [] }) => `${path.length === 0 ? 'the value' : path.map(nameOf).join('.')}: ${message}`)
    .join('\n');

/** The rest is told when these are corrected. */
const ISSUES_TOLD_MAX = 16;

const nameOf = (segment: PropertyKey | { readonly key: PropertyKey }): string =>
  String(typeof segment === 'object' ? segment.key : segment);
