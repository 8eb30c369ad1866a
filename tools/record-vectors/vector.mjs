// One vector: a file, what it is, and the verdicts that are due.

/** Verified by a fold and without one; chain and number of events are those of the last record. */
export const ok = (file, about, content, compared = {}) =>
  vector({ file, about, content }, { with_fold: OK, without_fold: OK, ...compared });

/**
 * Refused, with a fold and without. `where` is the position of the first event of the bad commit, and of the event that a fold
 * names if that is another one: `[commit, position]`. Both are -1 for the tool package and the genesis record.
 */
export const bad = (file, about, content, where) =>
  vector(
    { file, about, content },
    { with_fold: at(where), without_fold: { verdict: 'bad', commit: at(where).commit } },
  );

/** Refused by a fold only. */
export const badInFold = (file, about, content, where) =>
  vector({ file, about, content }, { with_fold: at(where), without_fold: OK });

const OK = { verdict: 'ok' };

function at(where) {
  const [commit, position] = Array.isArray(where) ? where : [where, where];
  return { verdict: 'bad', position, commit };
}

const vector = ({ file, about, content }, verdicts) => ({
  heads: [],
  checkpoints: [],
  ...verdicts,
  file,
  about,
  content: typeof content === 'string' ? Buffer.from(content) : content,
});
