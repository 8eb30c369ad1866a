// A part of the page where something is answered, or done that cannot be taken back. It takes nothing before it has been in view
// and unmoved for as long as a person needs to see it: what moves under a pointer is not what the person aimed at.
import { type ComponentChildren, type JSX, createContext } from 'preact';
import { useContext, useEffect, useRef } from 'preact/hooks';
import { type ReadonlySignal, useSignal } from '@preact/signals';

/** A part of the page takes something after it was seen for so long, in milliseconds. */
const SEEN_AFTER_MS = 1_000;
/** How often it is looked whether it has moved, in milliseconds. */
const LOOK_EVERY_MS = 100;
/** Layout is rounded to parts of a pixel. */
const MOVED_PX = 1;

interface Care {
  readonly isReady: ReadonlySignal<boolean>;
  /** Whether a press counts. Of what was taken, nothing more is taken before it was seen anew. */
  takes(event: JSX.TargetedMouseEvent<HTMLButtonElement>): boolean;
}

const CareContext = createContext<Care | null>(null);

export interface CarefulProps {
  readonly label: string;
  readonly class: string;
  /** `article` for one of many. */
  readonly as?: 'article' | 'section';
  /** What it shows, as text: when that changes it is a new sight. */
  readonly shows: string;
  /** It takes nothing any more. */
  readonly isOver?: boolean;
  readonly children: ComponentChildren;
}

export function Careful(props: CarefulProps): JSX.Element {
  const { label, class: name, as: As = 'section', shows, isOver = false, children } = props;
  const element = useRef<HTMLElement>(null);
  const seen = useRef<Seen>({ at: null, since: 0, shows });
  const isReady = useSignal(false);
  const look = (): boolean => {
    seen.current = lookedAt(seen.current, placeOf(element.current), shows);
    isReady.value = !isOver && seen.current.at !== null && performance.now() - seen.current.since >= SEEN_AFTER_MS;
    return isReady.value;
  };
  useEffect(() => {
    look();
    const timer = setInterval(look, LOOK_EVERY_MS);
    return () => clearInterval(timer);
  }, [shows, isOver]);
  const care: Care = {
    isReady,
    takes: (event) => {
      // The second click of a double click was aimed at what the first one saw.
      if (event.detail > 1 || !look() || !isInView(event.currentTarget.getBoundingClientRect())) return false;
      seen.current = { ...seen.current, since: performance.now() };
      isReady.value = false;
      return true;
    },
  };
  return (
    <CareContext.Provider value={care}>
      <As ref={element as never} class={name} aria-label={label} onKeyDown={ignoreHeldKey}>
        {children}
      </As>
    </CareContext.Provider>
  );
}

export interface SureButtonProps {
  /** Without it the form of the button is submitted. */
  readonly onPress?: () => void;
  readonly disabled?: boolean;
  readonly children: ComponentChildren;
}

/** A button that takes a press only when its {@link Careful} part does. */
export function SureButton({ onPress, disabled = false, children }: SureButtonProps): JSX.Element {
  const care = useContext(CareContext);
  if (care === null) throw new Error('a button that acts is drawn outside of a careful part');
  return (
    <button
      type={onPress === undefined ? 'submit' : 'button'}
      disabled={disabled}
      aria-disabled={!care.isReady.value}
      onClick={(event) => {
        if (!care.takes(event)) event.preventDefault();
        else onPress?.();
      }}
    >
      {children}
    </button>
  );
}

interface Seen {
  /** Where it was when it was looked at last; null while it was out of view. */
  readonly at: DOMRect | null;
  /** Since when it has been there, in milliseconds of the page. */
  readonly since: number;
  readonly shows: string;
}

function lookedAt(before: Seen, at: DOMRect | null, shows: string): Seen {
  const isSame = before.at !== null && at !== null && isNear(before.at, at) && before.shows === shows;
  return isSame ? before : { at, since: performance.now(), shows };
}

function placeOf(element: HTMLElement | null): DOMRect | null {
  if (element === null || document.visibilityState !== 'visible') return null;
  const place = element.getBoundingClientRect();
  return isInView(place) ? place : null;
}

const isInView = ({ top, bottom, left, right }: DOMRect): boolean =>
  bottom > 0 && top < window.innerHeight && right > 0 && left < window.innerWidth;

const isNear = (a: DOMRect, b: DOMRect): boolean =>
  [a.x - b.x, a.y - b.y, a.width - b.width, a.height - b.height].every((by) => Math.abs(by) < MOVED_PX);

/** A key that is held down presses again and again. */
function ignoreHeldKey(event: JSX.TargetedKeyboardEvent<HTMLElement>): void {
  const isPress = event.key === 'Enter' || event.key === ' ';
  const isPressed = event.target instanceof HTMLButtonElement || event.target instanceof HTMLInputElement;
  if (event.repeat && isPress && isPressed && !(event.key === ' ' && event.target instanceof HTMLInputElement)) {
    event.preventDefault();
  }
}
