// Package plan checks a request, and opens and locks what its run needs. It makes nothing yet, so an error leaves nothing
// behind.
package plan
