// Package inputs opens what an analysis may read of the host: each once, checked on the descriptor, which is then bound.
package inputs
