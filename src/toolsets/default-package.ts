// The tool package of a session that is given no other: the registry, and a profile for each family of models (AOS P7,
// "Provider-Aligned Profile Defaults").
import { type ToolId, brand } from '../../schemas/ids.ts';
import { sealJson } from '../../schemas/sealed.ts';
import type { ToolPackage, ToolProfile } from '../../schemas/tool-set.ts';
import { hostTools } from './host-tools.ts';
import { permissionTools } from './permission-tools.ts';
import { toolsFind } from './tools-find.ts';

const BEFORE_EDITS = [
  'host.session.open',
  'host.fs.read_file',
  'host.fs.list_dir',
  'host.fs.glob',
  'host.fs.grep',
  'host.fs.stat',
  'host.fs.exists',
  'host.fs.write_file',
];
const AFTER_EDITS = ['host.exec', 'host.session.signal', 'permissions.check', 'permissions.describe', 'tools.find'];

const profile = (id: string, edit: string): ToolProfile => ({
  profile_id: brand<'ProfileId'>(id),
  tool_ids: [...BEFORE_EDITS, edit, ...AFTER_EDITS].map((tool): ToolId => brand<'ToolId'>(tool)),
});

let sealed: ToolPackage | undefined;

/**
 * The host tools and the workflow tools, and one profile for each family of models. The profiles differ only in the tool
 * that edits files. Frozen, and the same object every time.
 */
export const defaultToolPackage = (): ToolPackage => (sealed ??= sealJson(make()));

const make = (): ToolPackage => ({
  registry: [...hostTools(), ...permissionTools(), toolsFind()],
  profiles: [
    profile('openai', 'host.fs.apply_patch'),
    profile('anthropic', 'host.fs.edit_file'),
    profile('gemini', 'host.fs.edit_file'),
  ],
  provider_profiles: [
    // A model gets its own tools behind any host.
    { provider_contains: '', model_contains: 'claude', profile_id: brand<'ProfileId'>('anthropic') },
    { provider_contains: '', model_contains: 'gemini', profile_id: brand<'ProfileId'>('gemini') },
    { provider_contains: 'anthropic', profile_id: brand<'ProfileId'>('anthropic') },
    { provider_contains: 'claude', profile_id: brand<'ProfileId'>('anthropic') },
    { provider_contains: 'gemini', profile_id: brand<'ProfileId'>('gemini') },
    { provider_contains: 'google', profile_id: brand<'ProfileId'>('gemini') },
    { provider_contains: '', profile_id: brand<'ProfileId'>('openai') },
  ],
});
