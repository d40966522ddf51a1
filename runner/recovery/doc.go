// Package recovery ends the runs of killed launchers and removes what they left: gc, the parts of it that other commands do (Tidy,
// CommitPending, Recover), retention, and rm. It commits what can be committed, removes only what a record names, by device
// and inode, and touches nothing of a live run: a step that changes a run holds the run's lock and has read its row with it.
//
// GC does, in this order: commit pending results (pending.go), finish runs whose analysis had ended (resume.go), mark the others
// lost (lost.go), clean after all (clean.go, sweep.go), expire (expire.go), and remove blobs that no run names (blobs.go).
package recovery
