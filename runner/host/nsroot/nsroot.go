// Package nsroot makes root of an ordinary container (Docker's, podman's), which lacks CAP_SYS_ADMIN, root of a user namespace of
// its own with the same ids. Import it for its effect: a C constructor (nsroot.c) does it before Go starts its threads, since a
// process with threads cannot change its user namespace.
package nsroot

import "C"
