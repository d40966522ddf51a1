// Package slurm runs lines of a batch as job arrays of Slurm: what each line needs of a node, the script, how to query Slurm
// for its state, and what that means for a line without a result. Task runs one line on its node (docs/adr/0026,
// docs/slurm.md).
//
// "slurm submit" writes a spool (submission.go) and submits a script for each array. A task is one process (task.go) with
// its own root on the node, which runs its line like any run and delivers the result. "slurm collect" commits what was
// delivered and writes the end of a task that left nothing.
//
//   - A result is a record that gets its name by link(2): if a task and a collect that takes it for dead both write one,
//     the first one counts (outputs/record, KeepFirst).
//   - Slurm is queried before the results are read. Its answer counts only for a task without a result (verdict.go).
//   - The roots of killed tasks are found by their locks and removed by the user's next task on that node (runner/host/lockdir).
package slurm
