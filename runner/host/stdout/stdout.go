// Package stdout keeps a standard output that the caller has closed closed, so that writes to it fail. Go would open /dev/null in
// its place. Import it for its effect: a C constructor (stdout.c) runs before Go starts.
package stdout

import "C"
