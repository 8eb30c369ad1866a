// The shape of a rule set, and how its texts are written.
import type { JsonObject } from '../../schemas/json.ts';
import type { TEXTS_1 } from './texts-1.ts';

/** What the fold decides by, and every text that it writes (docs/design.md, "Rules"). */
export interface RuleSet {
  readonly rules: number;
  /** The first version of refold that knows it; a refusal by an older one quotes it. */
  readonly since: string;
  readonly texts: Readonly<Record<TextKey, string>>;
  readonly shellReads: ShellReads;
  /** The workflows that a tool may name. A call of any other is answered as `executor_unsupported`. */
  readonly workflows: readonly string[];
}

/** Which tools run commands, and which do each operation that only reads (reducers/shell/read.ts). */
export interface ShellReads {
  /** The tools that run a command, by the kind of their effect, and the arguments that hold the command. */
  readonly commands: { readonly effect_kind: string; readonly argumentList: string; readonly folder: string };
  readonly reads: Readonly<Record<ReadOperation, ReadTool>>;
}

export type ReadOperation = 'readText' | 'readSize' | 'listFolder' | 'findFiles' | 'searchText';

export interface ReadTool {
  readonly tool_id: string;
  /** The tool's own name for each parameter of the operation. */
  readonly names: Readonly<Record<string, string>>;
  /** Arguments that every call gets. */
  readonly fixed: JsonObject;
}

export type TextKey = keyof typeof TEXTS_1;

type NamesIn<Template extends string> = Template extends `${string}{${infer Name}}${infer Rest}`
  ? Name | NamesIn<Rest>
  : never;

/** The values that a text needs, by the names of its placeholders. */
export type ValuesOf<Key extends TextKey> = Readonly<Record<NamesIn<(typeof TEXTS_1)[Key]>, string | number>>;

/** A text of the rule set with its values. */
export const ruleText = <Key extends TextKey>({ texts }: RuleSet, key: Key, values: ValuesOf<Key>): string =>
  fill(texts[key], values);

/** What a failed call returns to the model. Every such text of the fold is made here. */
export const errorText = (rules: RuleSet, { code, message }: CodedText): string =>
  ruleText(rules, 'error', { code, message });

/** A text with the code that is recorded beside it. */
export interface CodedText {
  readonly code: string;
  readonly message: string;
}

/** A text with its code: the part of its key before the first dot. */
export const codedText = <Key extends TextKey>(
  rules: RuleSet,
  key: Key,
  values: ValuesOf<Key>,
): { readonly code: CodeOf<Key>; readonly message: string } => ({
  code: key.split('.', 1)[0] as CodeOf<Key>,
  message: ruleText(rules, key, values),
});

type CodeOf<Key extends TextKey> = Key extends `${infer Code}.${string}` ? Code : Key;

/**
 * The template with each `{name}` replaced by its value, in one pass: values are copied and never read as templates. A
 * placeholder without a value stays as it is.
 */
export const fill = (template: string, values: Readonly<Record<string, string | number>>): string =>
  template.replace(/\{([a-z_]+)\}/g, (placeholder, name: string) =>
    Object.hasOwn(values, name) ? String(values[name]) : placeholder,
  );
