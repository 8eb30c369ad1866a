// The layers (README, "The house"): schemas <- reducers <- src <- bridge, and within src the pure core below the rest.
const npm = ['npm', 'npm-dev', 'npm-peer', 'npm-optional'];
const only = (name, from, to, allow) => ({
  name,
  severity: 'error',
  from: { path: from },
  to: { path: to, pathNot: allow },
});
const packages = (name, from, allow) => ({
  name: `npm-${name}`,
  severity: 'error',
  from: { path: from },
  to: { dependencyTypes: npm, pathNot: `node_modules/(${allow})(/|$)` },
});
const NONE = 'a^';

module.exports = {
  forbidden: [
    { name: 'no-circular', severity: 'error', from: {}, to: { circular: true } },
    { name: 'no-orphans', severity: 'error', from: { orphan: true, pathNot: '^schemas/sha256-noble' }, to: {} },
    { name: 'nothing-imports-test', severity: 'error', from: { pathNot: '^test/' }, to: { path: '^test/' } },
    { name: 'nothing-imports-bench', severity: 'error', from: { pathNot: '^(bench|test)/' }, to: { path: '^bench/' } },
    {
      name: 'nothing-imports-cli',
      severity: 'error',
      from: { pathNot: '^(src/cli|test)/' },
      to: { path: '^src/cli/' },
    },
    only('schemas', '^schemas/', '^(reducers|src|bridge)/', NONE),
    only('reducers', '^reducers/', '^(src|bridge)/', NONE),
    only('src-never-bridge', '^src/', '^bridge/', NONE),
    only('core', '^src/core/', '^src/', '^src/(core|toolsets)/'),
    only('toolsets', '^src/toolsets/', '^(reducers|src)/', '^src/toolsets/'),
    only('files', '^src/files/', '^(reducers|src)/', '^src/files/'),
    only('journal', '^src/journal/', '^(reducers|src)/', '^src/(journal/|files/|core/chain)'),
    only('blobs', '^src/blobs/', '^(reducers|src)/', '^src/(blobs|files)/'),
    only('client', '^src/client/', '^(reducers|src)/', '^src/client/'),
    only('audit', '^src/audit/', '^src/', '^src/(audit|core)/'),
    only('engine', '^src/engine/', '^src/', '^src/(engine|core|journal|blobs|files|client/(?!http|index)|version)'),
    only('server', '^src/server/', '^src/', '^src/(server|client)/'),
    only('testing', '^src/testing/', '^src/(server|cli)/', NONE),
    {
      name: 'nothing-imports-testing',
      severity: 'error',
      from: { pathNot: '^(src/testing|test)/' },
      to: { path: '^src/testing/' },
    },
    only('bridge', '^bridge/', '^(reducers|src)/', '^src/(client|core|files)/'),
    {
      name: 'pure-no-node',
      severity: 'error',
      from: { path: '^(schemas|reducers|src/(core|toolsets))/', pathNot: '^schemas/sha256-node' },
      to: { dependencyTypes: ['core'] },
    },
    packages('schemas', '^schemas/', 'io-ts|fp-ts|@noble/hashes|fast-json-stable-stringify'),
    packages('reducers', '^reducers/', 'immer|fp-ts'),
    packages('core', '^src/(core|toolsets)/', 'immer|fp-ts'),
    packages('journal', '^src/journal/', 'level|classic-level|abstract-level|cbor-x|fp-ts'),
    packages('blobs', '^src/blobs/', 'fp-ts'),
    packages('client', '^src/client/', 'eventsource-parser|fp-ts'),
    packages('audit', '^src/audit/', 'fp-ts'),
    packages('engine', '^src/engine/', 'ajv|fp-ts'),
    packages('testing', '^src/testing/', 'fast-check|fp-ts'),
    packages('server', '^src/server/', 'hono|@hono/node-server|fp-ts'),
    packages('cli', '^src/cli/', 'commander|picocolors|fp-ts'),
    packages('bench', '^bench/', 'level|cbor-x|immer|fp-ts'),
    packages('bridge', '^bridge/', 'eventsource-parser|fp-ts|io-ts'),
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^(dist|replay-fixtures)/' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'default', 'types'] },
  },
};
