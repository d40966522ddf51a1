//go:build !amd64

package e2e

// oldFileCalls are those without a directory: newer architectures do not have them.
var oldFileCalls map[uintptr]fileCall
