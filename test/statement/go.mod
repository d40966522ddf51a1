// A module of its own, so that what verifies statements here is not scidex-oci's.
module github.com/scidex-ai/scidex-oci/test/statement

go 1.26.0

require (
	github.com/in-toto/attestation v1.2.0
	github.com/secure-systems-lab/go-securesystemslib v0.11.1
	google.golang.org/protobuf v1.36.12
)

require (
	golang.org/x/crypto v0.55.0 // indirect
	golang.org/x/sys v0.47.0 // indirect
)
