// Skills as they are read from real folders: what is accepted, what is refused and how it is said, and the digest of a folder.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isJson } from '../../schemas/json.ts';
import { SKILLS_MAX, SKILL_BYTES_MAX, SKILL_DEPTH_MAX, SKILL_FILES_MAX } from '../../schemas/limits.ts';
import { readSkillHead } from '../../src/skills/front-matter.ts';
import { type SkillFault, readSkill, readSkills } from '../../src/skills/read-skills.ts';
import { noPause, skillText, temporaryDirectory, writeFiles } from '../support/skills/skill-folders.ts';

/** What is wrong with a SKILL.md of this text, in a folder `demo`. */
function faultsOf(text: string | Uint8Array): readonly SkillFault[] {
  const root = temporaryDirectory();
  writeFiles(root, { 'demo/SKILL.md': text });
  const read = readSkill(root, 'demo');
  return Array.isArray(read) ? (read as readonly SkillFault[]) : [];
}

const withField = (field: string): string => `---\nname: demo\ndescription: Does it.\n${field}\n---\n`;

test('a skill has its fields, its instructions and the digests of its files', async () => {
  const root = temporaryDirectory();
  writeFiles(root, {
    'pdf-forms/SKILL.md': skillText('pdf-forms', 'license: MIT\nmetadata:\n  author: someone\n', 'Fill forms.\n'),
    'pdf-forms/scripts/fill.py': 'print(1)\n',
  });
  const { skills, faults } = await readSkills([root], noPause);
  expect(faults).toEqual([]);
  expect(skills).toHaveLength(1);
  expect(skills[0]).toMatchObject({
    name: 'pdf-forms',
    description: 'Does what pdf-forms does.',
    fields: { name: 'pdf-forms', license: 'MIT', metadata: { author: 'someone' } },
    command: null,
  });
  expect(skills[0]?.files.map(({ path }) => path)).toEqual(['SKILL.md', 'scripts/fill.py']);
  expect(readSkill(root, 'pdf-forms')).toMatchObject({ instructions: 'Fill forms.\n' });
});

test('with input_schema and run, a skill has a command', () => {
  const root = temporaryDirectory();
  const command = 'run: [python3, fill.py]\ninput_schema:\n  type: object\n  properties:\n    file: {type: string}\n';
  writeFiles(root, { 'demo/SKILL.md': skillText('demo', `${command}timeout_ms: 5000\n`) });
  expect(readSkill(root, 'demo')).toMatchObject({
    command: {
      run: ['python3', 'fill.py'],
      input_schema: { type: 'object', properties: { file: { type: 'string' } } },
      timeout_ms: 5_000,
    },
  });
});

describe('a head that is refused', () => {
  const REFUSED: Readonly<Record<string, readonly [text: string | Uint8Array, at: string, message: RegExp]>> = {
    'no head': ['# A skill\n', '', /must begin with a line of three hyphens/],
    'a head without end': ['---\nname: demo\ndescription: x\n', '', /has no end of its fields/],
    'a head that never ends': [`---\nname: demo\n${'a: b\n'.repeat(200_000)}`, '', /no end of its fields within/],
    'bytes that are not UTF-8': [Buffer.from([0x2d, 0x2d, 0x2d, 0x0a, 0xff]), '', /not UTF-8/],
    'a list': ['---\n- name\n---\n', '', /must hold fields/],
    nothing: ['---\n---\n', '', /must hold fields/],
    'bad YAML': ['---\nname: [demo\n---\n', '', /no plain YAML in line/],
    'a repeated field': ['---\nname: demo\nname: demo\ndescription: x\n---\n', '', /unique/],
    'an alias': [withField('a: &a [x, x]\nb: [*a, *a]'), '', /anchor|alias/],
    'a bomb of aliases': [
      withField(
        `a: &a [x,x,x,x,x,x,x,x,x]\n${Array.from({ length: 9 }, (_, at) => {
          const [own, below] = [String.fromCharCode(98 + at), String.fromCharCode(97 + at)];
          return `${own}: &${own} [${`*${below},`.repeat(9)}]`;
        }).join('\n')}`,
      ),
      '',
      /anchor|alias/,
    ],
    'a tag': [withField('a: !!js/function "x"'), '', /tag/i],
    'a tag of YAML itself': [withField('a: !!binary aGk='), '', /tag/],
    'a directive': [withField('%TAG ! tag:x,2000:\n'), '', /directive/],
    'a second document': [withField('...\nb: 1'), '', /end of document/],
    __proto__: [withField('__proto__: {admin: true}'), '', /__proto__/],
    '__proto__ inside a field': [withField('a: {__proto__: {admin: true}}'), '', /__proto__/],
    'a key that is no text': [withField('? [a]\n: b'), '', /strings/],
    'not a number': [withField('a: .nan'), '', /JSON/],
    'deep nesting': [withField(`a: ${'['.repeat(4_000)}${']'.repeat(4_000)}`), '', /brackets/],
    'no name': ['---\ndescription: x\n---\n', '/name', /is required/],
    'a name in capitals': ['---\nname: Demo\ndescription: x\n---\n', '/name', /a to z/],
    'a name that is too long': [`---\nname: ${'a'.repeat(65)}\ndescription: x\n---\n`, '/name', /1 to 64/],
    'a name of another folder': ['---\nname: other\ndescription: x\n---\n', '/name', /the folder is "demo"/],
    'a name with an invisible character': ['---\nname: "demo\\u200b"\ndescription: x\n---\n', '/name', /a to z/],
    'no description': ['---\nname: demo\n---\n', '/description', /is required/],
    'a description that is a number': ['---\nname: demo\ndescription: 5\n---\n', '/description', /is required/],
    'a long description': [`---\nname: demo\ndescription: ${'x'.repeat(1_025)}\n---\n`, '/description', /at most 1024/],
    'a description that turns the text': [
      '---\nname: demo\ndescription: "a\\u202eb"\n---\n',
      '/description',
      /U\+202E/,
    ],
    'a description with an escape': ['---\nname: demo\ndescription: "a\\u001b[2J"\n---\n', '/description', /U\+001B/],
    'a description with tag characters': [
      '---\nname: demo\ndescription: "a\\U000E0041"\n---\n',
      '/description',
      /U\+E0041/,
    ],
    'run alone': [withField('run: [a]'), '/input_schema', /is missing/],
    'input_schema alone': [withField('input_schema: {type: object}'), '/run', /is missing/],
    'an empty run': [withField('run: []\ninput_schema: {type: object}'), '/run', /list of 1 to 64/],
    'a run that is a line': [withField('run: rm -rf /\ninput_schema: {type: object}'), '/run', /list of/],
    'a schema of a string': [withField('run: [a]\ninput_schema: {type: string}'), '/input_schema', /type: object/],
    'no time': [withField('run: [a]\ninput_schema: {type: object}\ntimeout_ms: 0'), '/timeout_ms', /whole number/],
  };
  test.each(Object.keys(REFUSED))('%s', (which) => {
    const [text, at, message] = REFUSED[which] ?? ['', '', /never/];
    const faults = faultsOf(text);
    expect(faults.map((fault) => fault.at)).toContain(at);
    expect(faults.find((fault) => fault.at === at)?.message).toMatch(message);
    expect(faults[0]?.file).toMatch(/demo\/SKILL\.md$/);
  });

  test('everything that is wrong is said at once', () => {
    const text = '---\nname: Demo\nrun: []\n---\n';
    expect(faultsOf(text).map(({ at }) => at)).toEqual(['/name', '/description', '/run', '/input_schema']);
  });

  test('nesting without end is refused before the YAML is read, which would take long', () => {
    const [fault] = faultsOf(withField(`a: ${'{a: '.repeat(4_000)}`));
    expect(fault?.message).toMatch(/more than 256 brackets/);
    const deep = `a: ${'['.repeat(60)}${']'.repeat(60)}`;
    expect(faultsOf(withField(deep))).toEqual([]);
  });
});

test('joiners of emoji and of scripts are plain text', () => {
  expect(faultsOf('---\nname: demo\ndescription: "\u{1F469}\u200d\u{1F4BB} می\u200cخواهم"\n---\n')).toEqual([]);
});

describe('a folder that is refused', () => {
  const fresh = (): string => {
    const root = temporaryDirectory();
    writeFiles(root, { 'demo/SKILL.md': skillText('demo') });
    return root;
  };
  const REFUSED: Readonly<Record<string, readonly [spoil: (root: string) => void, file: string, message: RegExp]>> = {
    'a link to a file outside': [(root) => symlinkSync('/etc/passwd', join(root, 'demo/a')), 'demo/a', /symbolic link/],
    'a link in place of SKILL.md': [
      (root) => {
        renameSync(join(root, 'demo/SKILL.md'), join(root, 'away'));
        symlinkSync('../away', join(root, 'demo/SKILL.md'));
      },
      'demo/SKILL.md',
      /symbolic link/,
    ],
    'a link to a directory': [(root) => symlinkSync('/etc', join(root, 'demo/etc')), 'demo/etc', /symbolic link/],
    'a hard link': [
      (root) => {
        writeFileSync(join(root, 'secret'), 'x');
        linkSync(join(root, 'secret'), join(root, 'demo/a'));
      },
      'demo/a',
      /2 hard links/,
    ],
    'a pipe': [(root) => void execFileSync('mkfifo', [join(root, 'demo/pipe')]), 'demo/pipe', /pipe/],
    'a file of 1 GB': [
      (root) => {
        writeFileSync(join(root, 'demo/large'), '');
        truncateSync(join(root, 'demo/large'), 1_073_741_824);
      },
      'demo/large',
      /larger than/,
    ],
    'files of too many bytes together': [
      (root) => {
        for (const name of ['a', 'b', 'c']) {
          writeFileSync(join(root, 'demo', name), '');
          truncateSync(join(root, 'demo', name), SKILL_BYTES_MAX / 2);
        }
      },
      'demo/b',
      /larger than/,
    ],
    'too many files': [
      (root) => {
        for (let at = 0; at < SKILL_FILES_MAX; at += 1) writeFileSync(join(root, 'demo', `f${at}`), '');
      },
      'demo',
      /more than 256 files/,
    ],
    '10,000 files': [
      (root) => {
        for (let at = 0; at < 10_000; at += 1) writeFileSync(join(root, 'demo', `f${at}`), '');
      },
      'demo',
      /more than 4096 entries/,
    ],
    'a deep directory': [
      (root) => mkdirSync(join(root, 'demo', 'd/'.repeat(SKILL_DEPTH_MAX + 1)), { recursive: true }),
      `demo/${'d/'.repeat(SKILL_DEPTH_MAX)}d`,
      /deeper than/,
    ],
    'a name that turns the text': [(root) => writeFileSync(join(root, 'demo', 'a\u202eb'), ''), 'demo', /not shown/],
    'a name that is not UTF-8': [
      (root) => writeFileSync(Buffer.concat([Buffer.from(join(root, 'demo/')), Buffer.from([0xff])]), ''),
      'demo',
      /not UTF-8/,
    ],
    'no SKILL.md': [
      (root) => renameSync(join(root, 'demo/SKILL.md'), join(root, 'demo/skill.md')),
      'demo',
      /no file SKILL/,
    ],
  };
  test.each(Object.keys(REFUSED))('%s', async (which) => {
    const [spoil, file, message] = REFUSED[which] ?? [() => undefined, '', /never/];
    const root = fresh();
    writeFiles(root, { 'other/SKILL.md': skillText('other') });
    spoil(root);
    const { skills, faults } = await readSkills([root], noPause);
    expect(skills.map(({ name }) => name)).toEqual(['other']);
    expect(faults).toHaveLength(1);
    expect(faults[0]?.file).toBe(join(root, file));
    expect(faults[0]?.message).toMatch(message);
  });

  test('a folder that is a link', async () => {
    const root = fresh();
    symlinkSync('demo', join(root, 'linked'));
    const { skills, faults } = await readSkills([root], noPause);
    expect(skills.map(({ name }) => name)).toEqual(['demo']);
    expect(faults).toEqual([{ file: join(root, 'linked'), at: '', message: expect.stringMatching(/symbolic link/) }]);
  });

  test('a directory that does not exist', async () => {
    const { skills, faults } = await readSkills(['/nonexistent/skills'], noPause);
    expect(skills).toEqual([]);
    expect(faults).toEqual([{ file: '/nonexistent/skills', at: '', message: expect.stringMatching(/no such file/) }]);
  });

  test('more folders than may be read are not read', async () => {
    const root = temporaryDirectory();
    for (let at = 0; at <= SKILLS_MAX; at += 1) {
      const name = `s${String(at).padStart(3, '0')}`;
      writeFiles(root, { [`${name}/SKILL.md`]: skillText(name) });
    }
    const { skills, faults } = await readSkills([root], noPause);
    expect(skills).toHaveLength(SKILLS_MAX);
    expect(faults.map(({ message }) => message)).toEqual([expect.stringMatching(/more than 256 folders/)]);
  });
});

test('skills of several directories beyond those that may be read are named', async () => {
  const roots = ['a', 'b'].map((letter) => {
    const root = temporaryDirectory();
    for (let at = 0; at < SKILLS_MAX / 2 + 1; at += 1) {
      const name = `${letter}${String(at).padStart(3, '0')}`;
      writeFiles(root, { [`${name}/SKILL.md`]: skillText(name) });
    }
    return root;
  });
  const { skills, faults } = await readSkills(roots, noPause);
  expect(skills).toHaveLength(SKILLS_MAX);
  expect(faults.map(({ file }) => file)).toEqual(['b127', 'b128'].map((name) => join(roots[1] ?? '', name)));
});

test('many fields take time by their number, not by its square', () => {
  const names = Array.from({ length: 24_000 }, (_, at) => at.toString(36));
  for (const text of [`m: {${names.join()}}`, names.map((name) => `${name}:`).join('\n')]) {
    const times = Array.from({ length: 3 }, () => {
      const began = performance.now();
      readSkillHead(text, 'demo');
      return performance.now() - began;
    });
    // Some 200 ms when nothing else runs; comparing each field with every other one takes 5 s and more.
    expect(Math.min(...times)).toBeLessThan(2_500);
  }
});

test('a name that two directories have is used of neither, whichever comes first', async () => {
  const [one, two] = [temporaryDirectory(), temporaryDirectory()];
  writeFiles(one, { 'same/SKILL.md': skillText('same'), 'only/SKILL.md': skillText('only') });
  writeFiles(two, { 'same/SKILL.md': skillText('same', '', 'Other instructions.\n') });
  const [forth, back] = [await readSkills([one, two], noPause), await readSkills([two, one], noPause)];
  expect(forth.skills.map(({ name }) => name)).toEqual(['only']);
  expect(forth.faults).toHaveLength(2);
  expect({ ...back, paths: [] }).toEqual({ ...forth, paths: [] });
});

describe('the digest of a folder', () => {
  /** Computed from the folder with nothing of refold's. */
  function plainDigest(folder: string): string {
    const sha = (data: string | Uint8Array): string => `sha256:${createHash('sha256').update(data).digest('hex')}`;
    const paths: string[] = [];
    const walk = (at: string): void => {
      for (const name of readdirSync(join(folder, at))) {
        const path = at === '' ? name : `${at}/${name}`;
        if (statSync(join(folder, path)).isDirectory()) walk(path);
        else paths.push(path);
      }
    };
    walk('');
    paths.sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
    return sha(JSON.stringify(['refold/folder/1', paths.map((path) => [path, sha(readFileSync(join(folder, path)))])]));
  }

  const segment = fc.stringMatching(/^[a-zA-Z0-9é\u{1F600}_-]{1,6}$/u);
  const path = fc.array(segment, { minLength: 1, maxLength: 3 }).map((parts) => parts.join('/'));
  const files = fc
    .dictionary(path, fc.uint8Array({ maxLength: 64 }), { maxKeys: 8 })
    .map((given) =>
      Object.fromEntries(
        Object.entries(given).filter(
          ([name]) => !Object.keys(given).some((other) => other.startsWith(`${name}/`)) && !/^SKILL/i.test(name),
        ),
      ),
    );

  test('is that of the plain reference, whatever the order in which the files were made', () => {
    fc.assert(
      fc.property(files, fc.func(fc.nat()), (given, order) => {
        const [one, two] = [temporaryDirectory(), temporaryDirectory()];
        const all = Object.entries({ ...given, 'SKILL.md': Buffer.from(skillText('demo')) });
        const shuffled = all.toSorted(([a], [b]) => order(a) - order(b) || (a < b ? -1 : 1));
        writeFiles(join(one, 'demo'), Object.fromEntries(all));
        writeFiles(join(two, 'demo'), Object.fromEntries(shuffled));
        const [first, second] = [readSkill(one, 'demo'), readSkill(two, 'demo')];
        if (Array.isArray(first) || Array.isArray(second)) throw new Error(JSON.stringify([first, second]));
        expect((first as { digest: string }).digest).toBe(plainDigest(join(one, 'demo')));
        expect((second as { digest: string }).digest).toBe((first as { digest: string }).digest);
      }),
      { numRuns: 40 },
    );
  });

  test('changes with every byte and every path, and not with times or modes', () => {
    const root = temporaryDirectory();
    const digest = (): string => (readSkill(root, 'demo') as { digest: string }).digest;
    writeFiles(root, { 'demo/SKILL.md': skillText('demo'), 'demo/a': 'xy', 'demo/b': 'z' });
    const first = digest();
    utimesSync(join(root, 'demo/a'), 1, 1);
    chmodSync(join(root, 'demo/a'), 0o755);
    expect(digest()).toBe(first);
    const seen = new Set([first]);
    for (const change of [
      () => writeFileSync(join(root, 'demo/a'), 'x'),
      () => writeFileSync(join(root, 'demo/b'), 'yz'),
      () => renameSync(join(root, 'demo/b'), join(root, 'demo/c')),
      () => writeFileSync(join(root, 'demo/SKILL.md'), skillText('demo', '', 'Other.\n')),
    ]) {
      change();
      expect(seen).not.toContain(digest());
      seen.add(digest());
    }
  });
});

test('whatever a SKILL.md holds, it is a skill of JSON values or a list of faults, and nothing is thrown', () => {
  const line = fc.oneof(
    fc.constantFrom(
      'name: demo',
      'description: x',
      'run: [a]',
      'input_schema: {type: object}',
      '---',
      '- a',
      '&a',
      '*a',
    ),
    fc.string({ maxLength: 20 }),
    fc.stringMatching(/^[a-z_]{1,8}: [[\]{}"'|>&*!%@,:#a-z0-9. -]{0,12}$/),
  );
  const root = temporaryDirectory();
  mkdirSync(join(root, 'demo'));
  fc.assert(
    fc.property(fc.array(line, { maxLength: 12 }), (lines) => {
      writeFileSync(join(root, 'demo/SKILL.md'), `---\n${lines.join('\n')}\n---\nbody`);
      const read = readSkill(root, 'demo');
      if (Array.isArray(read)) expect(read.length).toBeGreaterThan(0);
      else expect(isJson((read as { fields: unknown }).fields)).toBe(true);
    }),
    { numRuns: 300 },
  );
});
