// The definitions of toolsets that wait for approval: each is shown whole, as it differs from the approved one, before a person
// can approve it.
import type { JSX } from 'preact';
import { useSignal } from '@preact/signals';
import type { Outcome, WaitingToolset } from '../protocol.ts';
import { OutcomeNote } from './acts.tsx';
import { type SourceNow, refusalOf, useApp, useAsk } from './app.ts';
import { Careful, SureButton } from './careful.tsx';
import { Answered, DiffLines, count } from './panel.tsx';
import { Said } from './text.tsx';

export function WaitingToolsets({ source }: { readonly source: SourceNow }): JSX.Element {
  const asked = useAsk('toolsets', { source: source.source }, source.news);
  return (
    <Answered asked={asked} waiting="reading the definitions …">
      {(toolsets) => (
        <>
          {toolsets.map((waiting) => (
            <ToolsetCard key={waiting.toolset} source={source} waiting={waiting} />
          ))}
        </>
      )}
    </Answered>
  );
}

interface ToolsetCardProps {
  readonly source: SourceNow;
  readonly waiting: WaitingToolset;
}

function ToolsetCard({ source, waiting: { toolset, owner, tools, rest } }: ToolsetCardProps): JSX.Element {
  const { link } = useApp();
  const outcome = useSignal<Outcome | null>(null);
  const isSent = useSignal(false);
  const seen = tools.filter(({ lines }) => lines !== null);
  const { session_id } = source;
  const approve = (): void => {
    if (session_id === null) return;
    const approved = Object.fromEntries(seen.map(({ tool_id, digest }) => [tool_id, digest]));
    isSent.value = true;
    const over = (answer: Outcome): void => {
      isSent.value = false;
      outcome.value = answer;
    };
    link
      .ask('act', { session_id, kind: 'approve_toolset', toolset, tools: approved })
      .then(over, (error: unknown) => over({ taken: false, refused: refusalOf(error), first: null }));
  };
  return (
    <Careful
      as="article"
      class="question"
      label={`toolset ${toolset}`}
      shows={JSON.stringify(tools)}
      isOver={isSent.value}
    >
      <h2>
        Approve definitions of <Said text={toolset} />?
      </h2>
      <p class="note">
        set by <Said text={owner} />
        {rest > 0 && `; ${count(rest, 'further definition')} when these are approved`}
      </p>
      {tools.map(({ tool_id, lines }) =>
        lines === null ? (
          <p key={tool_id} class="fault">
            The definition of <Said text={tool_id} /> cannot be read here, so it cannot be approved here.
          </p>
        ) : (
          <DiffLines key={tool_id} lines={lines} rest={0} />
        ),
      )}
      {source.can.act && seen.length > 0 && (
        <SureButton onPress={approve}>approve {count(seen.length, 'definition')}</SureButton>
      )}
      {outcome.value !== null && <OutcomeNote outcome={outcome.value} done="approved" />}
    </Careful>
  );
}
