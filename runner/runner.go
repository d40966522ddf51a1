// Package runner takes one analysis from its manifest to a committed result: it opens the inputs, writes the intent, drives
// the sandbox, harvests, commits and cleans.
package runner
