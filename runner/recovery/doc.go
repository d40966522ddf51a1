// Package recovery removes what runs have left that did not come to their end, and commits what they could not: gc, what
// every command that writes does of it, retention, and rm.
package recovery
