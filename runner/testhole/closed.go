//go:build !testhole

// Package testhole opens a deliberate hole in test builds (build tag testhole), to show that selftest finds it: a
// directory with a unix socket is bound like any other, and a process can connect to the socket.
package testhole

// Open says that the hole is open. It is a constant: no flag, variable or file opens it in a binary built without the
// tag.
const Open = false
