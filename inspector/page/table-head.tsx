// The head of a table: a row of its columns.
import type { JSX } from 'preact';

export const TableHead = ({ columns }: { readonly columns: readonly string[] }): JSX.Element => (
  <thead>
    <tr>
      {columns.map((column) => (
        <th key={column} scope="col">
          {column}
        </th>
      ))}
    </tr>
  </thead>
);
