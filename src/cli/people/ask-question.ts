// Asks the person at the terminal what a call asks: field by field where the schema is flat, else for JSON.
import { isLeft } from 'fp-ts/lib/Either.js';
import { paint } from '../../shown/paint.ts';
import { type QuestionField, fieldHint, fieldValue, questionFields } from '../../shown/question-fields.ts';
import { visible } from '../../shown/visible.ts';
import type { ElicitationAnswer } from '../../../schemas/elicitation.ts';
import { type Json, type JsonObject, isPlainObject, parseJson } from '../../../schemas/json.ts';
import { ELICITATION_ANSWER_BYTES_MAX } from '../../../schemas/limits.ts';
import type { Elicitation } from '../../core/status.ts';

interface Prompts {
  readonly ask: (text: string) => Promise<string>;
  readonly print: (line: string) => void;
}

/** The person's answer: accept with the content that was typed, decline, or cancel. */
export async function askQuestion({ asked }: Elicitation, { ask, print }: Prompts): Promise<ElicitationAnswer> {
  for (;;) {
    const word = (await ask(CHOICE)).trim().toLowerCase();
    if (word === 'd') return { action: 'decline' };
    if (word === 'c') return { action: 'cancel' };
    if (word !== 'a') {
      print('  please answer with a, d or c');
      continue;
    }
    const fields = questionFields(asked.schema);
    if (fields?.length === 0) return { action: 'accept' };
    const content = fields === null ? await askJson({ ask, print }) : await askFields(fields, { ask, print });
    return { action: 'accept', content };
  }
}

const CHOICE = `  ${paint.bold('a')} answer   ${paint.bold('d')} decline   ${paint.bold('c')} cancel: `;

async function askFields(fields: readonly QuestionField[], { ask, print }: Prompts): Promise<JsonObject> {
  const content: Record<string, Json> = {};
  for (const field of fields) {
    for (;;) {
      const typed = await ask(`  ${visible(field.name)}${hintOf(field)}: `);
      const given = fieldValue(field, typed === '' && field.proposed !== null ? field.proposed : typed);
      if ('fault' in given) print(paint.yellow(`  ! ${visible(given.fault)}`));
      else {
        if ('value' in given) content[field.name] = given.value;
        break;
      }
    }
  }
  return content;
}

function hintOf(field: QuestionField): string {
  const { kind, required, proposed } = field;
  const what = `${fieldHint(field)}${kind === 'choices' ? ', with commas between' : ''}`;
  const rest = proposed === null ? (required ? '' : ', or nothing') : `, or nothing for ${proposed}`;
  return visible(` (${what}${rest})`);
}

async function askJson({ ask, print }: Prompts): Promise<JsonObject> {
  for (;;) {
    const parsed = parseJson(await ask('  your answer, a JSON object: '), ELICITATION_ANSWER_BYTES_MAX);
    if (!isLeft(parsed) && isPlainObject(parsed.right)) return parsed.right;
    print(paint.yellow(`  ! ${isLeft(parsed) ? visible(parsed.left.message) : 'that is no JSON object'}`));
  }
}
