// Package slurm runs lines of a batch as job arrays of Slurm: what each line needs of a node, the script, how to query Slurm
// for its state, and what that means for a line without a result (docs/adr/0026, docs/slurm.md). How a line is run on its node, and
// its result delivered and committed, is in spooled.
//
// "slurm submit" writes a spool (submission.go) and submits a script for each array. A task is one process, which "slurm collect"
// waits for. Slurm is queried before the results are read; its answer counts only for a task without a result (verdict.go).
package slurm
