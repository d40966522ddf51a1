// Package deliver hands the outputs of a committed run on: to a directory (--export), and to a command of the caller's own
// (--post-process).
package deliver
