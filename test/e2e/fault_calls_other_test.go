//go:build !amd64

package e2e

// oldFileCalls and oldPathCalls are those without a directory: newer architectures do not have them.
var oldFileCalls, oldPathCalls map[uintptr]fileCall
