// Compares the result of a runtime with the record and with the result of the first runtime.

/** Null when both agree at every position; otherwise one line that names the first difference. */
export function findDifference(answer, first = answer) {
  if (answer.error !== undefined) return answer.error;
  for (const [index, { name, bytes, differs }] of answer.sessions.entries()) {
    const other = first.sessions[index].bytes;
    const position = bytes.findIndex((digest, at) => digest !== other[at]) - 1;
    if (differs !== null && (position === -2 || differs.position <= position)) {
      return `${name}, position ${differs.position}: ${differs.what} is not the recorded one`;
    }
    if (position !== -2) return `${name}, position ${position}: the bytes of the state differ`;
  }
  const parts = ['state', 'chain', 'rolling'].filter((part) => answer[part] !== first[part]);
  return parts.length === 0 ? null : `${parts.join(', ')} differ`;
}
