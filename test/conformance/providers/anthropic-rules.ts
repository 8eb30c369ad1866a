// What the Messages API refuses in a body: a checker that knows nothing of how refold writes one.

// oxlint-disable-next-line typescript/no-explicit-any -- it reads bodies of any form.
type Any = any;

/** What is wrong with the body; empty when the API would take it. */
export function anthropicFaults(text: string): readonly string[] {
  const body = JSON.parse(text) as Any;
  const faults: string[] = [];
  const messages = body.messages as readonly Any[];
  const seen = new Set<string>();
  if (!(body.max_tokens >= 1)) faults.push('max_tokens is missing');
  if (messages[0]?.role !== 'user') faults.push('the first message is not the user’s');
  if (body.thinking?.type === 'enabled' && body.thinking.budget_tokens >= body.max_tokens)
    faults.push('budget too large');
  messages.forEach(({ role, content }, index) => {
    const at = `message ${index}`;
    if (messages[index - 1]?.role === role) faults.push(`${at}: two messages of the ${role} in a row`);
    if (!Array.isArray(content) || content.length === 0) faults.push(`${at}: is empty`);
    for (const block of content) {
      if (block.type === 'text' && block.text.trim() === '') faults.push(`${at}: a blank text`);
      if (block.type !== 'tool_use') continue;
      if (!/^[a-zA-Z0-9_-]{1,64}$/.test(block.id)) faults.push(`${at}: the id ${block.id}`);
      if (seen.has(block.id)) faults.push(`${at}: the id ${block.id} comes twice`);
      seen.add(block.id);
      if (!/^[a-zA-Z0-9_-]{1,128}$/.test(block.name)) faults.push(`${at}: the name ${block.name}`);
      if (typeof block.input !== 'object' || block.input === null || Array.isArray(block.input))
        faults.push(`${at}: input`);
    }
    if (role === 'assistant')
      faults.push(...endFaults(content, index === messages.length - 1).map((f) => `${at}: ${f}`));
    const called = idsOf(messages[index - 1], 'tool_use', 'id');
    const answered = idsOf({ content }, 'tool_result', 'tool_use_id');
    if (role === 'user' && called.join() !== answered.join())
      faults.push(`${at}: answers ${answered.join()}, not ${called.join()}`);
    if (role === 'user' && content.slice(0, called.length).some(({ type }: Any) => type !== 'tool_result')) {
      faults.push(`${at}: results do not come first`);
    }
  });
  const last = messages.at(-1);
  if (idsOf(last, 'tool_use', 'id').length > 0) faults.push('the last calls have no results');
  const named = messages.some(({ content }) => content.some(({ type }: Any) => type === 'tool_use'));
  if (named && body.tools === undefined) faults.push('calls without tools');
  return faults;
}

const idsOf = (message: Any, type: string, key: string): readonly string[] =>
  (message?.content ?? []).filter((block: Any) => block.type === type).map((block: Any) => block[key] as string);

function endFaults(content: readonly Any[], isLast: boolean): readonly string[] {
  const end = content.at(-1);
  if (/thinking$/.test(end?.type ?? '')) return ['thinking at its end'];
  return isLast && end?.type === 'text' && /\s$/.test(end.text) ? ['blanks at the end of the last message'] : [];
}
