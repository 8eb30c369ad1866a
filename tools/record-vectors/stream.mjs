// Exported sessions as lists of records, and what may be done to them.
import assert from 'node:assert/strict';
import { canonicalText, digestJson } from '../../dist/schemas/index.js';

/** The records of exported text. */
export const recordsOf = (text) =>
  text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => JSON.parse(line));

export const textOf = (records) => records.map((record) => `${canonicalText(record)}\n`).join('');

/** The text after the edit of a copy of the records. */
export function edited(records, edit) {
  const copy = structuredClone(records);
  return textOf(edit(copy) ?? copy);
}

/** As {@link edited}, with every link computed anew; the state digests stay as they are. */
export function editedAndChained(records, edit) {
  const copy = structuredClone(records);
  return textOf(chained(edit(copy) ?? copy));
}

/** The records with the digest of the package and every link computed anew. */
export function chained(records) {
  let chain = '';
  return records.map((record) => {
    if (record.kind === 'commit') chain = link(chain, record);
    else if (record.kind === 'genesis') chain = link(digestJson(record.genesis), { ...record, events: [] });
    else return record;
    return { ...record, chain };
  });
}

const link = (before, { events, state_digest }) =>
  digestJson(['refold/chain/1', before, events.map((event) => digestJson(event)), state_digest]);

/** The text with one piece replaced, which must be there exactly once. */
export function respelled(text, from, to) {
  assert.equal(text.split(from).length, 2, `${JSON.stringify(from)} must be there once`);
  return text.replace(from, () => to);
}

/** A digest that is well-formed and wrong. */
export const WRONG = `sha256:${'0'.repeat(64)}`;
