// The skills of one bridge: read from their directories, and again when something there changes.
import type { Clock } from '../../src/clock.ts';
import { watchPaths } from '../../src/files/watch-paths.ts';
import { type SkillFault, type SkillSet, readSkills } from '../../src/skills/read-skills.ts';
import { SKILL_TOOLSET, skillTools } from '../../src/skills/skill-tools.ts';
import { SKILLS_OWNER } from '../../src/skills/toolset-event.ts';
import type { ToolsetSource } from './toolset-source.ts';

export interface Skills extends ToolsetSource {
  /** As they were last read. */
  current(): SkillSet;
  /** Reads them again now; returns whether another set is there. */
  refresh(): Promise<boolean>;
  close(): Promise<void>;
}

export interface SkillsOptions {
  /** Absolute paths of the directories with the folders of skills. */
  readonly directories: readonly string[];
  /** `first`: a session that has no skills yet gets these approved. */
  readonly trust: 'first' | null;
  readonly clock: Pick<Clock, 'after'>;
  /** Called with what is wrong, when it is not what was wrong before. */
  readonly onFaults: (faults: readonly SkillFault[]) => void;
}

export async function openSkills({ directories, trust, clock, onFaults }: SkillsOptions): Promise<Skills> {
  let set = await readSkills(directories, nextTurn);
  let told = '';
  let version = 0;
  const tell = (): void => {
    const said = JSON.stringify(set.faults);
    if (said !== told && (set.faults.length > 0 || told !== '')) onFaults(set.faults);
    told = said;
  };
  async function refresh(): Promise<boolean> {
    const before = set.digest;
    set = await readSkills(directories, nextTurn);
    tell();
    if (set.digest === before) return false;
    version += 1;
    return true;
  }
  tell();
  const watch = watchPaths({
    paths: () => set.paths,
    onChange: async () => void (await refresh()),
    onError: (error) =>
      onFaults([
        { file: directories.join(', '), at: '', message: error instanceof Error ? error.message : 'unreadable' },
      ]),
    after: (ms, then) => clock.after(ms, then),
  });
  return {
    current: () => set,
    refresh,
    owner: SKILLS_OWNER,
    version: () => version,
    names: () => [SKILL_TOOLSET],
    ready: () => Promise.resolve(),
    toolsets: () => [{ toolset: SKILL_TOOLSET, tools: skillTools(set), trust }],
    close: () => watch.close(),
  };
}

/** Between two skills, other work of the bridge goes on. */
const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
