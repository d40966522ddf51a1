// Package pending has the records below the root of runs that have ended and whose result could not be committed yet.
package pending
