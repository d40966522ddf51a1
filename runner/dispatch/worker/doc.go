// Package worker runs the analyses of a queue, as many at once as there is room for. Each is an ordinary run of a runner.Runner
// whose catalog is a ledger: its intent is the queued row, and the transaction of its end also decides what becomes of the
// job. The contract of the queue is outputs/catalog/queue, its implementation outputs/catalog/postgres/riverqueue
// (docs/adr/0023, docs/queue.md).
//
//   - "submit" writes the row of a run, queued, and its job in one transaction; a worker completes both in one.
//   - Two workers may get the same job; the row decides. The worker that gets a job prepares its row first (PrepareRow). The run
//     of a vanished worker ends as lost there and cannot commit any more: its ledger reports a commit to the runner, which
//     then removes all that it has made (ledger.go).
//   - A transaction that locks rows of runs and of jobs locks those of runs first.
//   - A worker reports each step of an attempt to a Watch (progress.go). Its log and package metrics use nothing else.
//   - A job waits for a slot in its order for 10 s and then goes back without losing an attempt (admission). The slot is free
//     again when every process of an analysis is dead; its commit overlaps the next analysis.
//   - The context of a job ends with a cause, canceled, drained or overdue, which becomes a stop signal of the run. Work in
//     progress is finished. What becomes of the job (job.then) follows from the state of the run and that cause, in the
//     transaction that ends the run.
//   - "scidex-oci stop" signals the worker, which passes the signal on to that run only (package stops). Its job is finished.
//   - Before a row is judged that a worker of the same host may have left, what is left of it is recovered as by gc, since it
//     may be a result.
package worker
