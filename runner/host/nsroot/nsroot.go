// Package nsroot makes root of an ordinary container (Docker's, podman's), which lacks CAP_SYS_ADMIN, root of a new user
// namespace with the same ids. Import it for its effect: a C constructor (nsroot.c) runs before Go starts its threads,
// since a process with threads cannot change its user namespace.
package nsroot

import "C"
