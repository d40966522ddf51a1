// Package unmapped is the process that waits until the ids of its user namespace are mapped. It is imported for its effect
// before main, which is in C (unmapped.c).
package unmapped

import "C"

// Name is the argv[0] by which a program is that process. It waits for a byte on descriptor 3, which it leaves as it is,
// and executes itself once more with the further arguments and no environment; the second of these may be trace=N, the time
// of the execve in nanoseconds (CLOCK_MONOTONIC). End-of-file ends it.
const Name = "scidex-oci: waiting for id maps"
