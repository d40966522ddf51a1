// Package stdout lets writes to a standard output that the caller has closed fail: it is imported for its effect before
// main, which is in C (stdout.c), as Go would open /dev/null in its place.
package stdout

import "C"
