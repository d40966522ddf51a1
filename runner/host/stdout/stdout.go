// Package stdout keeps a standard output closed if the caller closed it, so that writes fail. Go would open /dev/null
// instead. Import it for its effect: a C constructor (stdout.c) runs before Go starts.
package stdout

import "C"
