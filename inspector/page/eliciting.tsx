// The answer to what a call asks: a form of its fields, or JSON where there is no form. What is typed is checked before it is
// sent; the engine holds it against the whole schema.
import type { JSX } from 'preact';
import { useId, useRef } from 'preact/hooks';
import { type Signal, useSignal } from '@preact/signals';
import type { Json, JsonObject } from '../../schemas/json.ts';
import { type QuestionField, fieldValue } from '../../src/shown/question-fields.ts';
import { visible } from '../../src/shown/visible.ts';
import type { QuestionOfCall } from '../protocol.ts';
import { type OnAnswer, readObject } from './answering.tsx';
import { SureButton } from './careful.tsx';
import { FieldInput } from './field-input.tsx';
import { into } from './into.ts';

interface ElicitingProps {
  readonly question: QuestionOfCall;
  readonly onAnswer: OnAnswer;
}

/** What was typed into each field, or what is wrong with it, by the name of the field. */
type Texts = ReadonlyMap<string, string>;

export function Eliciting({ question: { action, fields }, onAnswer }: ElicitingProps): JSX.Element {
  const texts = useSignal<Texts>(new Map((fields ?? []).map(({ name, proposed }) => [name, proposed ?? ''])));
  const json = useSignal('');
  const faults = useSignal<Texts>(new Map());
  const form = useRef<HTMLFormElement>(null);
  const accept = (): void => {
    const read = fields === null ? readJson(json.value) : readFields(fields, texts.value);
    faults.value = read.faults;
    if (read.faults.size > 0) {
      // Drawn first: what is wrong is marked, and the first of it gets the keyboard.
      queueMicrotask(() => form.current?.querySelector<HTMLElement>('[aria-invalid=true]')?.focus());
      return;
    }
    const content = fields?.length === 0 ? {} : { content: read.content };
    onAnswer({ kind: 'elicitation', result: { action: 'accept', ...content } }, 'answered');
  };
  return (
    <form
      ref={form}
      class="answers"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        accept();
      }}
    >
      {fields === null ? (
        <JsonAnswer schema={action.asked.schema ?? {}} text={json} fault={faults.value.get(JSON_ANSWER)} />
      ) : (
        fields.map((field) => (
          <FieldInput
            key={field.name}
            field={field}
            text={texts.value.get(field.name) ?? ''}
            fault={faults.value.get(field.name)}
            onText={(text) => (texts.value = new Map(texts.value).set(field.name, text))}
          />
        ))
      )}
      <SureButton>accept</SureButton>
      <SureButton onPress={() => onAnswer({ kind: 'elicitation', result: { action: 'decline' } }, 'declined')}>
        decline
      </SureButton>
      <SureButton onPress={() => onAnswer({ kind: 'elicitation', result: { action: 'cancel' } }, 'dismissed')}>
        cancel
      </SureButton>
    </form>
  );
}

/** The name under which the only fault of an answer in JSON is kept. */
const JSON_ANSWER = '';

interface Read {
  readonly content: JsonObject;
  readonly faults: Texts;
}

function readFields(fields: readonly QuestionField[], texts: Texts): Read {
  const content: [name: string, value: Json][] = [];
  const faults = new Map<string, string>();
  for (const field of fields) {
    const read = fieldValue(field, texts.get(field.name) ?? '');
    if ('fault' in read) faults.set(field.name, read.fault);
    else if ('value' in read) content.push([field.name, read.value]);
  }
  return { content: Object.fromEntries(content), faults };
}

function readJson(text: string): Read {
  const content = readObject(text);
  if (content !== null) return { content, faults: new Map() };
  return { content: {}, faults: new Map([[JSON_ANSWER, 'it must be one JSON object']]) };
}

interface JsonAnswerProps {
  readonly schema: JsonObject;
  readonly text: Signal<string>;
  readonly fault: string | undefined;
}

function JsonAnswer({ schema, text, fault }: JsonAnswerProps): JSX.Element {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>your answer, JSON that fits</label>
      <pre class="said" tabIndex={0} id={`${id}-hint`} aria-label="the schema of the answer">
        {JSON.stringify(schema, null, 2).split('\n').map(visible).join('\n')}
      </pre>
      <textarea
        id={id}
        rows={6}
        value={text.value}
        onInput={into(text)}
        aria-invalid={fault !== undefined}
        aria-describedby={`${id}-fault`}
      />
      <p class="fault" role="alert" id={`${id}-fault`}>
        {fault}
      </p>
    </div>
  );
}
