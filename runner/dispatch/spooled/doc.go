// Package spooled runs lines of a batch on machines that reach no catalog: a Spool is a directory that the machines share, with the
// lines and what becomes of them. A Task runs one line with a root of its own and delivers the result; a Collector commits what was
// delivered, and for a line without a result what its caller knows of the end. Which batch system starts tasks, and knows of an end, is
// its caller's matter (slurm; docs/adr/0026).
//
//   - A result is a record that gets its name by link(2): if a task and a collector that takes it for dead both write one,
//     the first one counts (outputs/record, KeepFirst).
//   - The roots of killed tasks are found by their locks and removed by the user's next task on that machine (runner/host/lockdir).
package spooled
