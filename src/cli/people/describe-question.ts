// Describes what a call asks: who asks, the question, an address to look at, and what an answer consists of. Text of others is
// escaped, so it cannot imitate refold's own lines; an address is only shown.
import { paint } from '../../shown/paint.ts';
import { type QuestionField, fieldHint, questionFields } from '../../shown/question-fields.ts';
import { visible } from '../../shown/visible.ts';
import { type Elicitation, questionDigest } from '../../core/status.ts';
import { commandFor, shellWord } from '../../shown/shell-word.ts';

export function describeQuestion({ tool_name, asked, due_at_ms }: Elicitation): readonly string[] {
  const { message, from, url, schema } = asked;
  const who = from === undefined ? '' : ` ${paint.dim(`(${visible(from)})`)}`;
  const fields = questionFields(schema);
  const lines = [
    ...message.split(/\r\n|[\n\r]/).map((line) => `| ${visible(line)}`),
    ...(url === undefined ? [] : [`look at this address yourself, if you trust it: ${visible(url)}`]),
    ...(fields ?? []).map(fieldLine),
    ...(fields === null
      ? [`an answer is JSON that fits: ${visible(JSON.stringify(schema)).slice(0, SCHEMA_CHARS_MAX)}`]
      : []),
    ...(due_at_ms === undefined ? [] : [paint.dim(`until ${new Date(due_at_ms).toISOString()}`)]),
  ];
  const head = `${paint.yellow('?')} ${paint.bold(visible(tool_name))} asks${who}`;
  return [head, ...lines.map((line) => `  ${line}`)];
}

const SCHEMA_CHARS_MAX = 4_000;

/** A field of the answer, as a list shows it. */
function fieldLine(field: QuestionField): string {
  const { name, note, required, proposed } = field;
  const more = [...(required ? [] : ['optional']), ...(proposed === null ? [] : [`proposed: ${proposed}`])];
  const end = more.length === 0 ? '' : paint.dim(` (${visible(more.join(', '))})`);
  return `${paint.bold(visible(name))}: ${visible(fieldHint(field))}${end}${note === '' ? '' : paint.dim(`  ${visible(note)}`)}`;
}

/** A question in a list: whose it is, what is asked, and the commands that answer it. */
export const questionLines = (question: Elicitation): readonly string[] => [
  `${paint.bold(visible(question.call_id))}  ${question.session_id}`,
  ...describeQuestion(question),
  ...answerCommands(question).map((line) => paint.dim(`  ${line}`)),
];

function answerCommands(question: Elicitation): readonly string[] {
  const digest = `--digest ${questionDigest(question)}`;
  const fields = questionFields(question.asked.schema);
  const content = fields?.length === 0 ? '' : ` --data ${shellWord('{…}')}`;
  return [
    commandFor('answer', question, digest + content),
    commandFor('answer', question, `${digest} --action decline`),
  ];
}
