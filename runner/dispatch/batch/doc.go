// Package batch runs many analyses: it reads lines, starts as many of them at once as it may, repeats those that
// failed for a reason outside of the analysis, and drains when it is stopped. What a line does is defined by a Work. The
// package knows no terminal, no flag and no file.
//
// One goroutine (Batch.Run) receives lines, ends and signals and holds all state. Each running line has a goroutine of its
// own, in which a Work makes its result; Retrying and Resuming are Works around the one that calls runner.Run. All runs
// share one catalog, one blob store and one supervisor (standby.Pool). Each has an attempt, a state file and a lock of its
// own: to gc, "logs -f" and stop they are runs like any other.
//
//   - Memory does not grow with the batch. A file is read twice: first each line becomes a request that is dropped again,
//     but for 16 bytes of digest of its id, which find duplicate ids; then lines are run as they are read. The cases of
//     JUnit are spooled to a file without a name, because their counts come first in the report.
//   - "stop" signals the process that all runs of the batch share. By the record lock on a state file the batch knows which
//     run is meant (watch.AskedToStop), and by the byte that each stop has locked, at random, how many more signals are to
//     come from the stops that it saw with the first. Any other signal is for all runs.
//   - --resume first settles what killed launchers have left (recovery.Recover), so that each line is judged by its row. A
//     line whose request, with its defaults filled in, differs from the recorded one is refused.
//   - The third signal for all ends the process at once, since a reader that does not read results could block it; gc
//     finds the rest.
//   - A line whose analysis has ended makes room for the next while its outputs are read and committed (Batch.Overlap);
//     otherwise one of two cores waits for the disk. Where analyses are short, the next containers stand ready at their
//     gates (docs/adr/0020). Neither applies where the result of a line decides whether others start (--fail-fast,
//     --max-failures), where it may be repeated (--retries), or where it has a hook.
package batch
