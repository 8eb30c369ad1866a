// One field of what a call asks. Its name, choices and proposal are texts of others: they are shown with their marks, and so is
// what would be sent where it has marks that an input does not show.
import type { JSX } from 'preact';
import { useId } from 'preact/hooks';
import { type QuestionField, choiceText, chosenIn, fieldHint, typedChoices } from '../../src/shown/question-fields.ts';
import { visible } from '../../src/shown/visible.ts';
import { Said } from './text.tsx';

export interface FieldInputProps {
  readonly field: QuestionField;
  /** What is typed or chosen so far. */
  readonly text: string;
  readonly fault: string | undefined;
  readonly onText: (text: string) => void;
}

export function FieldInput(props: FieldInputProps): JSX.Element {
  const id = useId();
  const { field, text, fault } = props;
  const { name, note, required, kind } = field;
  const label = (
    <>
      <Said text={name} />
      {!required && ' (optional)'}
    </>
  );
  const described = {
    'aria-describedby': `${id}-hint ${id}-fault`,
    'aria-invalid': fault !== undefined,
    'aria-required': required,
  };
  return (
    <div class="field">
      {kind === 'choices' ? (
        <Choices {...props} id={id} label={label} />
      ) : (
        <>
          <label for={id}>{label}</label> <OneInput {...props} given={{ id, ...described }} />
        </>
      )}
      <p class="note" id={`${id}-hint`}>
        {kind !== 'choice' && visible(fieldHint(field))} {note !== '' && <Said text={note} />}
      </p>
      {visible(text) !== text && (
        <p class="note" role="status">
          it has marks that are not seen: <Said text={text} />
        </p>
      )}
      <p class="fault" role="alert" id={`${id}-fault`}>
        {fault !== undefined && visible(fault)}
      </p>
    </div>
  );
}

interface OneInputProps extends FieldInputProps {
  /** What joins it with its label and its faults. */
  readonly given: JSX.HTMLAttributes<HTMLInputElement & HTMLSelectElement>;
}

function OneInput({ field: { kind, choices, format }, text, onText, given }: OneInputProps): JSX.Element {
  const onInput = ({ currentTarget: { value } }: { readonly currentTarget: { readonly value: string } }): void =>
    onText(value);
  if (kind === 'choice' || kind === 'yes_no') {
    const options = kind === 'choice' ? choices : YES_NO;
    return (
      <select {...given} value={text} onChange={onInput}>
        <option value="">choose …</option>
        {options.map((choice) => (
          <option key={choice.value} value={choice.value}>
            {visible(choiceText(choice))}
          </option>
        ))}
      </select>
    );
  }
  const keys = kind === 'integer' ? 'numeric' : kind === 'number' ? 'decimal' : format === 'uri' ? 'url' : 'text';
  return (
    <input
      {...given}
      type={format === 'date' ? 'date' : 'text'}
      inputMode={format === 'email' ? 'email' : keys}
      autoComplete="off"
      value={text}
      onInput={onInput}
    />
  );
}

const YES_NO = ['yes', 'no'].map((value) => ({ value, title: value }));

interface ChoicesProps extends FieldInputProps {
  readonly id: string;
  readonly label: JSX.Element;
}

function Choices({ id, label, field: { choices }, text, fault, onText }: ChoicesProps): JSX.Element {
  const chosen = chosenIn(text);
  return (
    <fieldset aria-describedby={`${id}-hint ${id}-fault`}>
      <legend>{label}</legend>
      {choices.map((choice, index) => (
        <label key={choice.value}>
          <input
            type="checkbox"
            checked={chosen.includes(choice.value)}
            aria-invalid={index === 0 && fault !== undefined}
            onChange={({ currentTarget: { checked } }) =>
              onText(
                typedChoices(
                  choices
                    .map(({ value }) => value)
                    .filter((value) => (value === choice.value ? checked : chosen.includes(value))),
                ),
              )
            }
          />{' '}
          {visible(choiceText(choice))}
        </label>
      ))}
    </fieldset>
  );
}
