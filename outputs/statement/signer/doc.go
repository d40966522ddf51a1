// Package signer signs statements of runs with the key of a host: a key in a file that only its owner can reach, or one
// that only a command can use. Errors show nothing of a key.
package signer
