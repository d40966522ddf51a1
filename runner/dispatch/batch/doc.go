// Package batch runs many analyses: it reads lines, runs as many at once as allowed, repeats those that failed for a reason
// outside of the analysis, and drains when it is stopped. A Work defines what a line does. The package knows no terminal,
// flag or file.
//
// One goroutine (Batch.Run) receives lines, ends and signals and holds all state. A dispatch.Executor runs the lines. Retrying, Resuming
// and Exporting are Works around dispatch.Runs. Each run has its own attempt, state file and lock: gc, "logs -f" and stop treat them
// like any other run.
//
//   - Memory does not grow with the batch, except for a 16-byte digest of each id, to find duplicates. A file is read twice:
//     first each line is parsed and dropped; then lines are run as they are read. The cases of JUnit are spooled to an
//     unnamed file, because their counts come first in the report.
//   - "stop" signals the process that all runs of the batch share. The record lock on a state file says which run is meant
//     (watch.AskedToStop), and the byte that each stop has locked, at random, how many more signals are to come from the
//     stops seen with the first. Any other signal is for all runs.
//   - --resume first recovers what killed launchers left (recovery.Recover), so that each line is judged by its row. A line
//     whose request, with its defaults filled in and without labels, differs from the recorded one is refused.
//   - The third signal for all ends the process at once, since a reader that does not read results could block it; gc
//     finds the rest.
//   - A line whose analysis has ended makes room for the next while its outputs are read and committed (Batch.Overlap);
//     otherwise one of two cores waits for the disk. If analyses are short, the next containers wait at their
//     gates (docs/adr/0055). Neither applies if the result of a line decides whether others start (--fail-fast,
//     --max-failures), if it may be repeated (--retries), or if it has a hook.
package batch
