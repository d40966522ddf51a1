// Package digest makes the digests of a run's inputs while the run goes on.
package digest
