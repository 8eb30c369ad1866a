// Facts as a test writes them: plain strings in place of branded ids, and no envelope.
import type { Content } from '../../schemas/content.ts';
import { EVENT_VERSION, type Ingress, type IngressKind, type NewEvent } from '../../schemas/event.ts';
import { brand } from '../../schemas/ids.ts';
import type { Branded } from '../../schemas/codec.ts';
import type { JsonObject } from '../../schemas/json.ts';
import type { ToolCallObserved } from '../../schemas/tool-call.ts';
import type { ToolPackage } from '../../schemas/tool-set.ts';
import type { ToolSpec } from '../../schemas/tool-spec.ts';

/** The same shape with plain strings in place of branded ids, so that tests can write literals. */
export type Loose<T> =
  T extends Branded<infer _Name>
    ? string
    : T extends string | number | boolean | null | undefined
      ? T
      : string extends keyof T
        ? T
        : T extends readonly (infer Item)[]
          ? readonly Loose<Item>[]
          : { readonly [K in keyof T]: Loose<T[K]> };

/** The fields of an event without its envelope, and without what `stepNew` adds. */
export type FieldsOf<K extends IngressKind> = Loose<Omit<Extract<Ingress, { readonly kind: K }>, 'kind' | 'event_id'>>;

/** One fact: its kind and its fields. */
export type Fact = { readonly [K in IngressKind]: { readonly kind: K } & FieldsOf<K> }[IngressKind];

/** Event number `index` of a stream. Its id (`e-1`) and its time (one second apart) follow from the number. */
export const eventOf = <K extends IngressKind>(kind: K, fields: FieldsOf<K>, index = 1): NewEvent =>
  ({
    kind,
    v: EVENT_VERSION,
    event_id: `e-${index}`,
    at_ms: 1_000 * index,
    ...(fields as object),
  }) as unknown as NewEvent;

/** A fact as event number `index`. */
export const factEvent = (fact: Fact, index: number): NewEvent => eventOf(fact.kind, fact as never, index);

export const say = (text: string): Content => ({ text });

/** One observed call. */
export const call = (
  call_id: string,
  tool_name: string,
  args: JsonObject = {},
  rest: Loose<Omit<ToolCallObserved, 'call_id' | 'tool_name' | 'arguments'>> = {},
): ToolCallObserved => ({ call_id: brand<'CallId'>(call_id), tool_name, arguments: args, ...(rest as object) });

/** A package of these tools, with one profile that offers all of them to every provider. */
export const packageOf = (tools: readonly ToolSpec[]): ToolPackage => ({
  registry: tools,
  profiles: [{ profile_id: brand('all'), tool_ids: tools.map(({ tool_id }) => tool_id) }],
  provider_profiles: [{ provider_contains: '', profile_id: brand('all') }],
});
