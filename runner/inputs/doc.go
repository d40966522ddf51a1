// Package inputs opens what of the host an analysis may read: each once, checked on the descriptor, which is what is bound.
package inputs
