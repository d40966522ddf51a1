// Package engine runs analyses for callers, and answers what they ask about runs: serve and mcp translate its methods into their
// protocols. What becomes of a request is what becomes of a line of a batch (dispatch.Runs). An Engine has no second implementation that
// asks another process by its socket: only the Python client would use one, and has its own.
//
//   - The queue is in memory, and fair between callers. A request that waits has no row in the catalog: nothing is left of it if it is
//     canceled.
//   - As in a batch, an analysis whose processes are gone makes room for the next while its outputs are committed, and short
//     ones are prepared before their turn (docs/adr/0055).
//   - A caller that goes away has its requests canceled and its runs stopped, except for detached ones.
//   - Runs of other processes are found, shown, awaited and stopped like its own (watch).
package engine
