// Package deliver delivers the outputs of a committed run: to a directory (--export), and to a command of the caller
// (--post-process).
package deliver
