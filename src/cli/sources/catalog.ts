// `refold catalog`: checks the files of a catalog, and says what becomes of its entries. Which of its tools a session may use is the
// session's: `explain --session` says so.
import { resolve } from 'node:path';
import type { SessionId } from '../../../schemas/ids.ts';
import { type CatalogWarning, catalogWarnings } from '../../catalog/check-catalog.ts';
import { type Catalog, type CatalogFault, type PlacedTool, readCatalog } from '../../catalog/read-catalog.ts';
import { must } from '../../client/must.ts';
import { paint } from '../../shown/paint.ts';
import { visible } from '../../shown/visible.ts';
import { CommandFailure, type Output } from '../output.ts';
import { withEngine } from '../with-engine.ts';

export interface CatalogCommand {
  readonly action: string;
  /** With `check` and `list` a path, else the name of an entry. */
  readonly name?: string;
  /** Absolute path of the catalog that the options name. */
  readonly path?: string;
  /** With `check`, warnings fail it. */
  readonly strict: boolean;
  readonly dataDir: string;
  readonly session?: SessionId;
}

/** The exit code is 1 when the catalog has faults, and with `strict` when it has warnings. */
export async function catalogCommand(command: CatalogCommand, output: Output): Promise<number> {
  const { action, name } = command;
  if (!['check', 'list', 'show', 'explain'].includes(action))
    throw misuse(`there is no action "${action}"; use check, list, show or explain`);
  const catalog = await readCatalog(pathOf(command), () => Promise.resolve());
  if (action === 'check') return check(catalog, command.strict, output);
  if (catalog.faults.length > 0) {
    for (const fault of catalog.faults) tellFault(fault, output);
    return 1;
  }
  if (action === 'list') return list(catalog, output);
  const tool = catalog.tools.find(({ name: own, spec }) => [own, spec.tool_name, spec.tool_id].includes(name ?? ''));
  if (tool === undefined)
    throw new CommandFailure('not_found', `the catalog has no entry "${name ?? ''}"; list them: refold catalog list`);
  return action === 'show' ? show(tool, output) : await explain(tool, command, output);
}

function pathOf({ action, name, path }: CatalogCommand): string {
  const takesPath = action === 'check' || action === 'list';
  if (takesPath && name !== undefined) return resolve(name);
  if (path !== undefined) return path;
  throw misuse(`name the catalog: ${takesPath ? `refold catalog ${action} PATH` : '--catalog PATH'}`);
}

function check({ tools, faults, digest }: Catalog, strict: boolean, output: Output): number {
  const warnings = catalogWarnings(tools);
  for (const fault of faults) tellFault(fault, output);
  for (const warning of warnings) tellWarning(warning, output);
  output.object({ event: 'catalog', tools: tools.length, faults: faults.length, warnings: warnings.length, digest });
  const found = `${faults.length} ${faults.length === 1 ? 'fault' : 'faults'}, ${warnings.length} ${warnings.length === 1 ? 'warning' : 'warnings'}`;
  output.line(faults.length > 0 ? `${found}: the catalog cannot be used` : `${tools.length} tools, ${found}`);
  return faults.length > 0 || (strict && warnings.length > 0) ? 1 : 0;
}

function list({ tools }: Catalog, output: Output): number {
  for (const { name, kind, spec, file } of tools) {
    output.object({
      event: 'entry',
      name,
      kind,
      tool_id: spec.tool_id,
      tool_name: spec.tool_name,
      description: spec.description,
      file,
    });
    const [first = ''] = spec.description.split('\n');
    output.line(`${paint.bold(name)}  ${paint.dim(`${kind}, ${spec.tool_name} for models`)}  ${visible(first)}`);
  }
  return 0;
}

function show({ name, definition, file, at }: PlacedTool, output: Output): number {
  const entry: unknown = (JSON.parse(definition) as { readonly source: unknown }).source;
  output.object({ event: 'entry', name, file, at, entry });
  output.line(paint.dim(`${file}${at}`));
  for (const line of JSON.stringify(entry, null, 2).split('\n')) output.line(visible(line));
  return 0;
}

async function explain(
  { name, kind, spec, file, at }: PlacedTool,
  { dataDir, session }: Pick<CatalogCommand, 'dataDir' | 'session'>,
  output: Output,
): Promise<number> {
  const verdict = session === undefined ? null : await verdictIn(dataDir, session, spec.tool_id);
  output.object({
    event: 'explained',
    name,
    kind,
    file,
    at,
    spec,
    ...(verdict === null ? {} : { session, ...verdict }),
  });
  output.line(`${paint.bold(name)}  in ${file}${at}`);
  output.line(`for models   ${spec.tool_name}`);
  output.line(`tool id      ${spec.tool_id}`);
  output.line(`run by       ${JSON.stringify(spec.executor)}`);
  output.line(
    `mode         ${spec.mode}${spec.permission_policy === 'always_ask' ? ', always asks a person' : ', asks as the policy of its mode says'}`,
  );
  output.line(`available    ${spec.availability_rules.join(', ')}`);
  output.line(`bounds       ${spec.timeout_ms} ms, ${spec.output_bytes_max} bytes of output`);
  if (verdict !== null) {
    output.line(`in ${session}  ${verdict.effective ? 'offered' : 'not offered'}: ${verdict.reasons.join(', ')}`);
  }
  return 0;
}

/** Whether a session offers the tool, and why. */
async function verdictIn(
  dataDir: string,
  session: SessionId,
  tool: string,
): Promise<{ readonly effective: boolean; readonly reasons: readonly string[] }> {
  return await withEngine(dataDir, async (client) => {
    const { state } = await must(client.session(session));
    const found = state.effective_tools.verdicts.find(({ tool_id }) => tool_id === tool);
    return found === undefined
      ? { effective: false, reasons: ['the session does not have this tool'] }
      : { effective: found.effective, reasons: found.reasons };
  });
}

function tellFault(fault: CatalogFault, output: Output): void {
  output.object({ event: 'fault', ...fault });
  output.line(
    visible(`${paint.red('fault')} ${fault.file}${fault.at === '' ? '' : ` at ${fault.at}`}: ${fault.message}`),
  );
}

function tellWarning(warning: CatalogWarning, output: Output): void {
  output.object({ event: 'warning', ...warning });
  output.line(
    visible(
      `${paint.yellow('warning')} ${warning.file}${warning.at === '' ? '' : ` at ${warning.at}`}: ${warning.message}`,
    ),
  );
}

const misuse = (message: string): CommandFailure => new CommandFailure('invalid_shape', message);
