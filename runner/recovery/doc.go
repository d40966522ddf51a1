// Package recovery removes what unfinished runs left, and commits what they could not: gc, the part of it that every writing
// command does (Tidy, CommitOutcomes), retention, and rm. Each step is a package below it that works on one pass.Pass:
// outcomes commits pending results, resume finishes runs whose analysis had ended, killed ends the others and cleans after
// all, retention expires, blobs sweeps. A step that changes a run holds the run's lock and has read its row with it.
package recovery
