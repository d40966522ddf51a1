// Package rpc serves JSON-RPC 2.0 (https://www.jsonrpc.org/specification) over a pair of streams: one object a line. It knows
// nothing of runs.
//
//   - A line that is read has at most MaxLine bytes; the rest of a longer one is skipped. Arrays of requests are refused.
//   - Each request is answered by a goroutine of its own, so answers come in any order. They start in the order of the lines: each
//     when the one before is taken. Cancel ends one by its id.
//   - What is written waits in a queue (Out). While that is full, nothing more is read, and optional notifications are dropped by
//     their sender. A peer for which far more waits is given up.
package rpc
