// Package watch shows runs to other processes: their results and lists, whether they live, their growing logs, and how to
// stop them.
package watch
