//go:build !testhole

// Package testhole opens one hole on purpose, in a build for tests alone (build tag testhole), so that
// selftest can be shown to find it: a directory with a unix socket in it is then bound like any other,
// and a process can connect to the socket.
package testhole

// Open is true where the hole is open. It is a constant: no flag, variable or file opens it in a binary
// that was built without the tag.
const Open = false
