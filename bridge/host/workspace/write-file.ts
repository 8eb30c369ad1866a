// host.fs.write_file: writes a whole file.
import type { JsonObject } from '../../../schemas/json.ts';
import { optionalChoice, optionalFlag, requiredText } from '../arguments.ts';
import { type HostOutcome, withFaultCodes, succeeded } from '../outcome.ts';
import { refuseWrites } from '../git/refuse-git.ts';
import type { HostParts } from '../tool.ts';
import { refuseNewMarks } from '../secret-mark.ts';
import { bytesOf, changedFile, preimageOf } from '../undo/record-change.ts';
import { attributesOf, existsFault, findReplaceable, makeDirectories, replaceFile } from './replace-file.ts';
import { refuseOffer } from './runner-files.ts';
import { withParent } from './workspace.ts';

export function writeFileTool(args: JsonObject, { workspace }: HostParts): HostOutcome {
  const path = workspace.parse(requiredText(args, 'path'));
  const bytes = Buffer.from(requiredText(args, 'text'), 'utf8');
  const exclusive = optionalChoice(args, 'mode', ['overwrite', 'create_new']) === 'create_new';
  refuseWrites(workspace, [path]);
  refuseNewMarks(bytes, () => bytesOf(preimageOf(workspace, path)), path.shown);
  refuseOffer(path, bytes);
  const parentsMade = optionalFlag(args, 'create_parents')
    ? makeDirectories(workspace.root, path.names.slice(0, -1), workspace.owner).length
    : 0;
  const before = preimageOf(workspace, path);
  const created = withFaultCodes({ not_found: 'parent_not_found' }, () =>
    withParent(workspace, path, (directory, name) => {
      const previous = findReplaceable(directory, name);
      if (previous !== null && exclusive) throw existsFault(path.shown);
      const attributes = previous === null ? workspace.owner : attributesOf(previous);
      replaceFile(directory, name, bytes, { attributes, exclusive });
      return previous === null;
    }),
  );
  const data = { path: path.shown, written_bytes: bytes.length, created };
  const text = `Wrote ${bytes.length} bytes to ${path.shown} (${created ? 'created' : 'replaced'}).`;
  return { ...succeeded(text, data), changes: [changedFile(path, before, bytes, parentsMade)] };
}
