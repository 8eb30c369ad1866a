// The interfaces of Standard Schema 1.1 (https://standardschema.dev) that a tool reads, so that no schema library is a
// dependency: Zod, Valibot, ArkType and others implement them.

/** A schema that validates a value, and says so in its types. */
export interface StandardSchema<Input = unknown, Output = Input> {
  /** What every schema library offers here. */
  readonly '~standard': StandardProps<Input, Output>;
}

interface StandardProps<Input, Output> {
  readonly version: 1;
  /** The library. */
  readonly vendor: string;
  /** Never set: it carries the types. */
  readonly types?:
    | {
        /** What the schema takes. */
        readonly input: Input;
        /** What the schema makes of it. */
        readonly output: Output;
      }
    | undefined;
  /** Checks a value, and converts it. */
  readonly validate: (value: unknown) => Validated<Output> | Promise<Validated<Output>>;
  /** Standard JSON Schema; absent in libraries without it. May throw for a schema that JSON Schema cannot express. */
  readonly jsonSchema?: {
    /** The JSON Schema of what the schema takes, in the dialect `target`. Throws where there is none. */
    readonly input: (options: { readonly target: 'draft-2020-12' }) => Readonly<Record<string, unknown>>;
  };
}

type Validated<Output> =
  | {
      /** The value, converted. */
      readonly value: Output;
      /** What does not fit; absent when all of it does. */
      readonly issues?: undefined;
    }
  | {
      /** What does not fit; absent when all of it does. */
      readonly issues: readonly SchemaIssue[];
    };

export interface SchemaIssue {
  /** What is wrong, for people. */
  readonly message: string;
  /** Where, from the outside in; absent for the value itself. */
  readonly path?:
    | readonly (
        | PropertyKey
        | {
            /** A property or an index. */
            readonly key: PropertyKey;
          }
      )[]
    | undefined;
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
