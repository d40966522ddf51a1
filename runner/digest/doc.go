// Package digest makes the digests of a run's inputs while it runs.
package digest
