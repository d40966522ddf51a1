// Package signer signs statements of runs with the key of a host: that of a file, or one that only a command can use.
package signer
