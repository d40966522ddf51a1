// Package engine runs analyses that callers ask for one by one: requests wait in a queue, fair between callers, and are
// started side by side, as many as there is room for. What becomes of one is what becomes of a line of a batch (dispatch.Runs).
//
//   - The queue is in memory. A request that waits has no row in the catalog: nothing is left of it if it is canceled.
//   - As in a batch, an analysis whose processes are gone makes room for the next while its outputs are committed, and short
//     ones are prepared before their turn (docs/adr/0055).
//   - A caller that goes away has its requests canceled and its runs stopped, except for detached ones.
package engine
