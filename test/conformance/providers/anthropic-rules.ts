// What the Messages API refuses in a body: a checker that knows nothing of how refold writes one.

// oxlint-disable-next-line typescript/no-explicit-any -- it reads bodies of any form.
type Any = any;

/** What is wrong with the body; empty when the API would take it. */
export function anthropicFaults(text: string): readonly string[] {
  const body = JSON.parse(text);
  const faults: string[] = [];
  const messages = body.messages as readonly Any[];
  const seen = new Set<string>();
  if (!(body.max_tokens >= 1)) faults.push('max_tokens is missing');
  if (messages[0]?.role !== 'user') faults.push('the first message is not the user’s');
  if (body.thinking?.type === 'enabled' && body.thinking.budget_tokens >= body.max_tokens)
    faults.push('budget too large');
  for (const [index, message] of messages.entries()) {
    const before = messages[index - 1];
    const isLast = index === messages.length - 1;
    const found = [
      ...(before?.role === message.role ? [`two messages of the ${message.role} in a row`] : []),
      ...blockFaults(message.content, seen),
      ...(message.role === 'assistant' ? endFaults(message.content, isLast) : answerFaults(before, message.content)),
    ];
    faults.push(...found.map((fault) => `message ${index}: ${fault}`));
  }
  const last = messages.at(-1);
  if (idsOf(last, 'tool_use', 'id').length > 0) faults.push('the last calls have no results');
  const named = messages.some(({ content }) => content.some(({ type }: Any) => type === 'tool_use'));
  if (named && body.tools === undefined) faults.push('calls without tools');
  return faults;
}

function blockFaults(content: readonly Any[], seen: Set<string>): readonly string[] {
  const faults: string[] = content.length === 0 ? ['it is empty'] : [];
  for (const block of content) {
    if (block.type === 'text' && block.text.trim() === '') faults.push('a blank text');
    if (block.type !== 'tool_use') continue;
    if (!/^[a-zA-Z0-9_-]{1,64}$/.test(block.id)) faults.push(`the id ${block.id}`);
    if (seen.has(block.id)) faults.push(`the id ${block.id} comes twice`);
    seen.add(block.id);
    if (!/^[a-zA-Z0-9_-]{1,128}$/.test(block.name)) faults.push(`the name ${block.name}`);
    if (Object.prototype.toString.call(block.input) !== '[object Object]') faults.push('input that is no object');
  }
  return faults;
}

function answerFaults(before: Any, content: readonly Any[]): readonly string[] {
  const called = idsOf(before, 'tool_use', 'id').join();
  const first = content.findIndex(({ type }: Any) => type !== 'tool_result');
  const leading = first === -1 ? content : content.slice(0, first);
  const answered = idsOf({ content: leading }, 'tool_result', 'tool_use_id').join();
  const all = idsOf({ content }, 'tool_result', 'tool_use_id').join();
  if (all !== called) return [`it answers ${all}, not ${called}`];
  return answered === all ? [] : ['results do not come first'];
}

const idsOf = (message: Any, type: string, key: string): readonly string[] =>
  (message?.content ?? []).filter((block: Any) => block.type === type).map((block: Any) => block[key] as string);

function endFaults(content: readonly Any[], isLast: boolean): readonly string[] {
  const end = content.at(-1);
  if (end?.type.endsWith('thinking')) return ['thinking at its end'];
  return isLast && end?.type === 'text' && /\s$/.test(end.text) ? ['blanks at the end of the last message'] : [];
}
