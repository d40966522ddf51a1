// Package signer has the key of a host that signs statements of runs: a file, or a command that has it elsewhere.
package signer
