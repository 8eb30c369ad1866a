// What the fold decides by, as data: every rule set with what it finds for the commands of commands.ts, and the life
// cycles. And the comparison of two such records, entry by entry.
import { CALL_TRANSITIONS } from '../../../reducers/call-status.ts';
import { RULE_SETS } from '../../../reducers/rules/rule-sets.ts';
import { PHASES, PHASE_BOUND_KINDS, RUN_TRANSITIONS } from '../../../reducers/run-phases.ts';
import { readAlternative } from '../../../reducers/shell/read.ts';
import { INGRESS_KINDS } from '../../../schemas/event.ts';
import type { Json, JsonObject } from '../../../schemas/json.ts';
import { negatives, placed, positives } from './commands.ts';

/** The golden record of this version, as plain JSON. */
export function recordedRules(): JsonObject {
  const sets = Object.values(RULE_SETS).map((set): [string, Json] => {
    const commands = [
      ...positives.map(([command]): [typeof command] => [command]),
      ...negatives.map((row) => [row] as [typeof row]),
      ...placed,
    ];
    const alternatives = commands.map(([command, cwd, workspace]) => [
      JSON.stringify([command, ...(cwd === undefined ? [] : [cwd]), ...(workspace === undefined ? [] : [workspace])]),
      readAlternative(set, command, cwd, workspace),
    ]);
    const { rules, ...rest } = set;
    return [`rules ${rules}`, { ...rest, alternatives: Object.fromEntries(alternatives) } as unknown as Json];
  });
  const bound = Object.fromEntries(INGRESS_KINDS.map((kind) => [kind, PHASE_BOUND_KINDS.has(kind)]));
  const lifeCycles = { bound, calls: CALL_TRANSITIONS, phases: PHASES, runs: RUN_TRANSITIONS };
  return JSON.parse(JSON.stringify({ ...Object.fromEntries(sets), 'life cycles': lifeCycles })) as JsonObject;
}

export interface RulesChange {
  readonly at: string;
  readonly what: string;
}

/** `breaking`: recorded sessions may fold to other bytes. `added`: what no recorded session can contain yet. */
export interface RulesComparison {
  readonly breaking: readonly RulesChange[];
  readonly added: readonly RulesChange[];
}

export function compareRules(golden: JsonObject, now: JsonObject): RulesComparison {
  const changes = changesIn(golden, now, '');
  const isAdded = ({ at, was }: Change): boolean => was === undefined && (ADDABLE.test(at) || isNewKind(at, golden));
  const said = (change: Change): RulesChange => ({ at: change.at, what: describe(change) });
  return {
    breaking: changes.filter((change) => !isAdded(change)).map((change) => said(change)),
    added: changes.filter((change) => isAdded(change)).map((change) => ({ at: change.at, what: 'is new' })),
  };
}

/** A whole rule set, a further command of the corpus, and a text that no fold wrote before. */
const ADDABLE = /^\/rules \d+(?:\/(?:alternatives|texts)\/.+)?$/s;

/** A row of a life cycle for a kind of event that no row had: no recorded session contains such an event. */
function isNewKind(at: string, golden: JsonObject): boolean {
  const [, kind] = /^\/life cycles\/(?:bound|calls\/[a-z]+|runs\/[a-z_]+)\/([A-Za-z._]+)$/.exec(at) ?? [];
  return kind !== undefined && !JSON.stringify(golden['life cycles']).includes(`"${kind}":`);
}

const describe = ({ was, is }: Change): string =>
  `was ${JSON.stringify(was) ?? 'absent'} and is ${JSON.stringify(is) ?? 'absent'}. ${ADVICE}`;

const ADVICE =
  'A recorded session would fold to other bytes. Undo the change and make it in a new rule set ' +
  '(docs/design.md, "Rules"). Only until 0.2.0 is released: npm run golden:rules, together with the fixtures, in one commit.';

interface Change {
  readonly at: string;
  readonly was: Json | undefined;
  readonly is: Json | undefined;
}

/** The smallest parts that differ. Lists differ as a whole. */
function changesIn(was: Json | undefined, is: Json | undefined, at: string): readonly Change[] {
  if (JSON.stringify(was) === JSON.stringify(is) && !isObject(was)) return [];
  if (!isObject(was) || !isObject(is)) return [{ at, was, is }];
  const keys = [...new Set([...Object.keys(was), ...Object.keys(is)])];
  return keys.flatMap((key) => changesIn(was[key], is[key], `${at}/${key}`));
}

const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
