// Every text that the fold writes into the state, for models and people to read (docs/design.md, "Rules"). The part of a
// key before its first dot is the code that is recorded with the text. `{name}` is replaced by a value. What is written
// once is recorded, so from the release on a change is a new table of a new rule set.
export const TEXTS_1 = {
  /** How every failed call begins. */
  error: 'error: {code}: {message}',

  // Calls that are refused before they run.
  duplicate_call_id: 'Two calls of this turn have the id "{id}". The first one was kept; give every call its own id.',
  tool_unknown: 'There is no tool "{name}". Available tools: {tools}.',
  tool_disabled: 'The tool "{name}" is disabled in this session. Use another tool.',
  tool_not_offered: 'The tool "{name}" is not offered in this session. Available tools: {tools}.',
  'tool_not_offered.changed':
    'The tool "{name}" was not offered with its present definition when you made this call. ' +
    'Read the definition that is offered now, then make the call again.',
  'tool_not_offered.beyond':
    'The tool "{name}" was not among the tools offered in this turn. Find it with tools_find, then call it in the next turn.',
  tool_unavailable: 'The tool "{name}" is not available now ({reasons}). Try again later, or use another tool.',
  tool_invalid_args: 'The arguments are not valid: {fault}. Correct them and make the call again.',
  'tool_invalid_args.at': 'The arguments are not valid at {path}: {fault}. Correct them and make the call again.',
  'tool_invalid_args.not_object': 'The arguments are not a JSON object. Correct them and make the call again.',
  executor_unsupported: 'This session has no workflow "{workflow}", which the tool needs. Use another tool.',
  repeated_call:
    'You have made this call {count} times in a row with the same arguments, so it was not run again. ' +
    'Do something else: the run ends if you repeat it.',
  batch_too_entangled: 'The calls of this turn depend on each other in too many ways. Make this call in the next turn.',
  'permission_denied.policy':
    'The policy of this session denies the tool "{name}" ({reasons}). Continue without this call.',
  /** A call that is refused before its next attempt; `why` is the text of the refusal. */
  not_tried_again: '{why} An earlier attempt of this call was made: check its effects.',

  // Calls that people answered, or did not answer.
  permission_denied: 'A person denied this call. Continue without it.',
  approval_expired:
    'The request to approve this call expired without an answer, so the call was not run. Continue without it.',
  /** Why a person is shown no preview of a call. */
  preview_lapsed: 'No bridge has said in time what this call would do.',
  tool_timeout: 'The time to fulfil this call expired without a result. Continue without it.',

  // Calls whose run or bridge ended first.
  'cancelled.interrupted': 'The run was interrupted before this call started, so the call was not run.',
  'cancelled.cancelled': 'The run was cancelled before this call started, so the call was not run.',
  'cancelled.failed': 'The run failed before this call started, so the call was not run.',
  'cancelled.lost':
    'The process that ran this call was lost while the run was ending. The call may have run in part; it is not run again.',
  outcome_unknown:
    'The process that ran this call was lost, so it is not known what the call did. ' +
    'Check its effects before you make it again.',
  left_running:
    'The run was interrupted while this call was running. The call continues, but its result will not be reported. ' +
    'Check its effects before you rely on them.',
  forked:
    'This session was forked from another one after {at} events, while this batch was open. The call was not run in this ' +
    'session, but it may have run in the other one. Check its effects before you make it again.',
  imported:
    'This session was imported from another place while this batch was open. The call was not run here, but it may have run ' +
    'there. Check its effects before you make it again.',

  // Results that do not fit.
  tool_invalid_result:
    'The call ran, but its result does not fit the output schema of the tool: {fault}. ' +
    'Check its effects before you make it again.',
  'tool_invalid_result.at':
    'The call ran, but its result does not fit the output schema of the tool at {path}: {fault}. ' +
    'Check its effects before you make it again.',
  result_left_out:
    'The result of this call was left out: the results of this turn take more than {max} bytes together. ' +
    'The call ran as its status says. Make fewer calls in one turn, or ask each of them for less.',
  /** The fault, where the check of a schema gave no message. */
  schema_misfit: 'the value does not fit the schema',

  // How runs end. The calls of the turn that ends a run are not run; their text is `not_run`.
  not_run: 'This call was not run. {why}',
  turns_exceeded: 'The run reached its limit of {max} turns.',
  calls_exceeded: 'The run reached its limit of {max} calls.',
  tokens_exceeded: 'The run used more than its limit of {max} tokens.',
  time_exceeded: 'The run reached its time limit of {max} ms.',
  'repeated_call.again': 'The model repeated a call that had been refused as a repetition.',
  terminal_result: 'The result of a call ended the run.',
  output_truncated:
    'The answer of the model was cut at its limit of output tokens. Set a higher output_tokens_max, or ask for less.',
  context_length: 'The conversation is longer than the model takes, and it could not be compacted ({code}).',
  content_filtered: 'A filter of the provider withheld the answer of the model.',
  model_refused: 'The model refused to answer.',
  host_session_failed: 'The host session did not become ready: its status is {status}.',
  provider_missing: 'The follow-up run did not start: it names no provider.',
  model_missing: 'The follow-up run did not start: it names no model.',
  profile_unknown: 'The follow-up run did not start: there is no tool profile for "{name}".',
  'tool_unknown.run': 'The follow-up run did not start: there is no tool "{name}".',

  // Forks.
  'forked.run': 'The session was forked after {at} events.',
  'forked.allowed':
    'The session was forked after {at} events, and in the other session a person had allowed a call that was not made yet.',
  'forked.undo': 'The undo was requested in the session that this one was forked from.',

  // Imports.
  'imported.run': 'The session was imported, and a person had approved a changed call where it was recorded.',
  'imported.allowed':
    'The session was imported, and where it was recorded a person had allowed a call that was not made yet.',
  'imported.undo': 'The undo was requested where this session was imported from.',

  // What permissions_check explains.
  'explanation.not_available': 'No tool of this name is available now.',
  'explanation.allow': 'The call runs without asking a person.',
  'explanation.ask': 'A person is asked to approve the call, and it waits for the answer.',
  'explanation.deny': 'The policy of this session denies the call. Continue without it.',

  // What tools_find says of what it found.
  'found.some': 'These tools are offered from the next turn on.',
  'found.none': 'No tool that is not offered already has one of these words. Use other words.',
  'found.too_many': 'At most {max} searches are made in one turn. Search again in the next turn.',

  // What the read-only alternative to a command returns.
  'alternative.file': 'It returns the text of the file.',
  'alternative.first_bytes': 'It returns the first {count} bytes of the file.',
  'alternative.first_lines': 'It returns the text of the file, which begins with the first {count} lines.',
  'alternative.lines': 'It returns the text of the file, which includes lines {first} to {last}.',
  'alternative.size': 'It returns the size of the file in bytes.',
  'alternative.folder': 'It lists the folder, including hidden names.',
  'alternative.find':
    'It finds the files of this name at any depth, except in .git and node_modules and behind symbolic links.',
  'alternative.search': 'It finds the same lines, each with its path and line number.',
  'alternative.grep':
    'It finds the same lines, each with its path and line number, except in .git and node_modules, ' +
    'behind symbolic links, and in files that are not text.',
  'alternative.ripgrep':
    'It finds the same lines, each with its path and line number, except in .git and node_modules and ' +
    'behind symbolic links. It also searches hidden and ignored files.',
} as const;
