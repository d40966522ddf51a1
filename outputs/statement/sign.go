package statement

import (
	"context"
	"errors"
	"fmt"

	"github.com/scidex-ai/scidex-oci/outputs/format"
)

// Max bounds the file of a statement, and that of a result, in bytes.
const Max = 64 << 20

// Signer signs for one key.
type Signer interface {
	Public() PublicKey
	// Sign signs a message.
	Sign(ctx context.Context, message []byte) (sig []byte, err error)
}

// Source has the key of a host.
type Source interface {
	// Open returns the signer. It fails if nothing can be signed now.
	Open(ctx context.Context) (Signer, error)
}

// Sign makes the statements of a run and signs each. The file has a line for each envelope.
func Sign(ctx context.Context, with Signer, res []byte, outputs []Output) (file []byte, err error) {
	made, err := payloads(res, outputs)
	if err != nil {
		return nil, fmt.Errorf("make the statement: %w", err)
	}
	for _, payload := range made {
		line, err := signOne(ctx, with, payload)
		if err != nil {
			return nil, fmt.Errorf("sign the statement: %w", err)
		}
		file = append(file, line...)
	}
	if len(file) > Max {
		return nil, fmt.Errorf("the statement of %d outputs has %s, more than the %s that are verified", len(outputs), format.Size(int64(len(file))), format.Size(Max))
	}
	return file, nil
}

// signOne verifies what it gets: a signing command may have another key.
func signOne(ctx context.Context, with Signer, payload []byte) ([]byte, error) {
	message := PAE(PayloadType, payload)
	sig, err := with.Sign(ctx, message)
	if err != nil {
		return nil, err
	}
	if !with.Public().Verifies(message, sig) {
		return nil, errors.New("the signature is not of the public key " + with.Public().ID())
	}
	return envelope{payload, []signature{{with.Public().ID(), sig}}}.encode()
}
