// Package workspace has what a run holds on its host, and how another process finds it again: the locked state file below
// the root with the Location of all else, the working directory, and the record of how the analysis ended.
package workspace
