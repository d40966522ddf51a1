// Package statement makes and verifies signed statements of runs: two in-toto statements
// (https://in-toto.io/Statement/v1), each in a DSSE envelope (https://github.com/secure-systems-lab/dsse) on a line of
// its own. The first has SLSA's provenance predicate, the second a predicate of scidex-oci about what was enforced.
// Both are made from the bytes of a result and from its outputs, so that a verifier can make them again and compare.
// docs/statement.md describes the form; docs/adr/0052 says why.
//
// It needs no catalog and no file system: its inputs are bytes.
package statement
