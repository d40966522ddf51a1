// Package check verifies the signed statement of a run with all that it is about: in a directory or a crate, which may come from
// anywhere, or in a catalog and its blobs. Nothing that it reads is trusted before the signature is verified.
package check
