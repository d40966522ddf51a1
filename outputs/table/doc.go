// Package table joins one output of many runs, a CSV, TSV or JSON file, into one table with their labels. It streams: a Survey
// reads all outputs once for the columns and their types, then a Layout reads them again and hands rows to a Writer. It knows
// no catalog and no blob store.
//
// Outputs are written by analyses that were not reviewed. The bounds below hold for each, and what breaks one is an
// error of only that output: a Survey takes all of an output or nothing.
package table

// Bounds of an output and of a table.
const (
	MaxColumns    = 1000      // of one output
	maxAll        = 4000      // of the table, with those of the runs
	maxName       = 1 << 10   // of a column, in bytes
	maxCell       = 256 << 10 // in bytes
	maxRecord     = 1 << 20   // in bytes: a record of CSV, an object of JSON
	MaxDepth      = 64        // of nested JSON
	readAhead     = 64 << 10  // in bytes
	maxLabelNames = 1000      // of all runs
)
