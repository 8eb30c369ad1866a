// `refold rules`: shows the rules that a session folds by, or moves it to later ones.
import { knownRules, newestRules } from '../../../reducers/rules/known-rules.ts';
import type { RuleSet } from '../../../reducers/rules/rule-set.ts';
import type { SessionId } from '../../../schemas/ids.ts';
import { must } from '../../client/must.ts';
import { CommandFailure, type Output } from '../output.ts';
import { userName } from '../people/user-name.ts';
import { withEngine } from '../with-engine.ts';

interface RulesChange {
  readonly id: SessionId;
  /** The number of the rules to adopt; without it, nothing is changed. */
  readonly adopt?: string;
}

export async function rulesCommand(dataDir: string, { id, adopt }: RulesChange, output: Output): Promise<number> {
  const adopted = adopt === undefined ? null : rulesNamed(adopt);
  return await withEngine(dataDir, async (client) => {
    if (adopted === null) {
      const { state } = await must(client.session(id));
      const newest = newestRules().rules;
      output.object({ rules: state.rules, newest });
      output.line(`${id} has rules ${state.rules}; the newest are rules ${newest}`);
      return 0;
    }
    const { rules, since } = adopted;
    const event = { kind: 'RulesAdopted' as const, rules, since, by: userName() };
    const receipt = await must(client.submit(id, { events: [event] }));
    output.object({ event, receipt });
    output.line(`${id} has rules ${rules} now`);
    return 0;
  });
}

function rulesNamed(text: string): RuleSet {
  const known = /^\d{1,9}$/.test(text) ? knownRules(Number(text)) : null;
  if (known !== null) return known;
  const newest = newestRules().rules;
  throw new CommandFailure(
    'rules_unknown',
    `this version of refold does not know rules "${text}"; its newest are rules ${newest}. Update refold for later ones`,
  );
}
