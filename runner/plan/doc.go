// Package plan checks a request and opens and locks what its run needs. A Plan can be run; nothing is made yet, so an error
// leaves nothing behind.
package plan
