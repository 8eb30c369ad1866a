// A field for a number of events; what is no number changes nothing.
import type { JSX } from 'preact';

export interface PositionFieldProps {
  readonly label: string;
  readonly value: number | null;
  readonly onChange: (value: number | null) => void;
}

export const PositionField = ({ label, value, onChange }: PositionFieldProps): JSX.Element => (
  <label>
    {label}{' '}
    <input
      type="number"
      min={0}
      step={1}
      value={value ?? ''}
      onChange={({ currentTarget }) => {
        const number = currentTarget.valueAsNumber;
        onChange(Number.isSafeInteger(number) && number >= 0 ? number : null);
      }}
    />
  </label>
);
