// Command verify verifies the signed statement of a run with others' code: the envelopes by go-securesystemslib, the statements
// and the provenance by the types of in-toto/attestation. It prints each statement as in-toto's types have it, a line each.
package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"os"

	provenance "github.com/in-toto/attestation/go/predicates/provenance/v1"
	attestation "github.com/in-toto/attestation/go/v1"
	"github.com/secure-systems-lab/go-securesystemslib/dsse"
	"github.com/secure-systems-lab/go-securesystemslib/signerverifier"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"
)

const inToto = "application/vnd.in-toto+json"

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: verify STATEMENT KEY.pub")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "verify:", err)
		os.Exit(1)
	}
}

func run(path, keyFile string) error {
	verifier, err := readKey(keyFile)
	if err != nil {
		return err
	}
	file, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(bytes.NewReader(file))
	lines.Buffer(nil, len(file)+1)
	number := 0
	for lines.Scan() {
		number++
		text, err := verify(verifier, lines.Bytes())
		if err != nil {
			return fmt.Errorf("line %d: %w", number, err)
		}
		fmt.Println(text)
	}
	if number == 0 {
		return errors.New("there is no envelope")
	}
	return lines.Err()
}

// readKey makes the verifier of a public key, whose id is the SHA-256 of its DER.
func readKey(path string) (*dsse.EnvelopeVerifier, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	key, err := signerverifier.LoadKey(text)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(text)
	sum := sha256.Sum256(block.Bytes)
	key.KeyID = hex.EncodeToString(sum[:])
	one, err := signerverifier.NewED25519SignerVerifierFromSSLibKey(key)
	if err != nil {
		return nil, err
	}
	return dsse.NewEnvelopeVerifier(one)
}

// verify verifies an envelope and returns its statement.
func verify(with *dsse.EnvelopeVerifier, line []byte) (string, error) {
	var envelope dsse.Envelope
	if err := json.Unmarshal(line, &envelope); err != nil {
		return "", err
	}
	if envelope.PayloadType != inToto {
		return "", fmt.Errorf("payload type %q", envelope.PayloadType)
	}
	if _, err := with.Verify(context.Background(), &envelope); err != nil {
		return "", err
	}
	payload, err := envelope.DecodeB64Payload()
	if err != nil {
		return "", err
	}
	var statement attestation.Statement
	if err := protojson.Unmarshal(payload, &statement); err != nil {
		return "", err
	}
	if err := statement.Validate(); err != nil {
		return "", err
	}
	if statement.PredicateType == "https://slsa.dev/provenance/v1" {
		if err := validate(statement.Predicate); err != nil {
			return "", fmt.Errorf("provenance: %w", err)
		}
	}
	text, err := protojson.Marshal(&statement)
	return string(text), err
}

// validate reads a predicate as SLSA's provenance; a field that this does not have is an error.
func validate(predicate *structpb.Struct) error {
	text, err := protojson.Marshal(predicate)
	if err != nil {
		return err
	}
	var p provenance.Provenance
	if err := protojson.Unmarshal(text, &p); err != nil {
		return err
	}
	return p.Validate()
}
