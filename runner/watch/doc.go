// Package watch shows runs to other processes: their results and lists, whether they live, their logs while they grow, and
// how to ask them to stop.
package watch
