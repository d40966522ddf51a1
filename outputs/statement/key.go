package statement

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
)

// The types of PEM blocks (RFC 7468).
const (
	privateBlock = "PRIVATE KEY"
	publicBlock  = "PUBLIC KEY"
)

// What is before the key in the DER of an Ed25519 key (RFC 8410, sections 4 and 7). crypto/x509, which reads all kinds of keys,
// would add a megabyte to the program.
var (
	privatePrefix = []byte("\x30\x2e\x02\x01\x00\x30\x05\x06\x03\x2b\x65\x70\x04\x22\x04\x20")
	publicPrefix  = []byte("\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00")
)

// PublicKey is an Ed25519 public key.
type PublicKey struct{ key ed25519.PublicKey }

// PublicOf is the public key of a private one.
func PublicOf(private ed25519.PrivateKey) PublicKey {
	public, _ := private.Public().(ed25519.PublicKey) // it has no other
	return PublicKey{public}
}

// der is the SubjectPublicKeyInfo.
func (k PublicKey) der() []byte { return append(bytes.Clone(publicPrefix), k.key...) }

// ID is the SHA-256 of the key's SubjectPublicKeyInfo in DER, in hexadecimal digits. It only helps to find the key.
func (k PublicKey) ID() string {
	sum := sha256.Sum256(k.der())
	return hex.EncodeToString(sum[:])
}

// PEM is the key as a file (SubjectPublicKeyInfo).
func (k PublicKey) PEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: publicBlock, Bytes: k.der()})
}

// Verifies reports whether sig is the key's signature of message.
func (k PublicKey) Verifies(message, sig []byte) bool {
	return len(k.key) == ed25519.PublicKeySize && ed25519.Verify(k.key, message, sig)
}

// ParsePublicKey reads the file of an Ed25519 public key (PEM, SubjectPublicKeyInfo).
func ParsePublicKey(file []byte) (PublicKey, error) {
	key, err := parseKey(file, publicBlock, publicPrefix)
	if err != nil {
		return PublicKey{}, err
	}
	return PublicKey{key}, nil
}

// PrivatePEM is a private key as a file (PKCS #8).
func PrivatePEM(key ed25519.PrivateKey) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: privateBlock, Bytes: append(bytes.Clone(privatePrefix), key.Seed()...)})
}

// ParsePrivateKey reads the file of an Ed25519 private key (PEM, PKCS #8). Its errors show nothing of the file.
func ParsePrivateKey(file []byte) (ed25519.PrivateKey, error) {
	seed, err := parseKey(file, privateBlock, privatePrefix)
	if err != nil {
		return nil, err
	}
	return ed25519.NewKeyFromSeed(seed), nil
}

// parseKey returns the 32 bytes of a key in the only block of a PEM file.
func parseKey(file []byte, kind string, prefix []byte) ([]byte, error) {
	block, rest := pem.Decode(file)
	switch {
	case block == nil:
		return nil, fmt.Errorf("it has no block \"-----BEGIN %s-----\"; give an Ed25519 key in PEM, as \"scidex-oci key new\" makes it", kind)
	case block.Type == privateBlock && kind == publicBlock:
		return nil, errors.New("it is the private key; give the public one")
	case block.Type != kind:
		return nil, fmt.Errorf("its block is \"%.40s\" and not \"%s\"; give an Ed25519 key in PEM, as \"scidex-oci key new\" makes it", block.Type, kind)
	case len(bytes.TrimSpace(rest)) > 0:
		return nil, errors.New("it has more than one block; give one key")
	}
	key, ok := bytes.CutPrefix(block.Bytes, prefix)
	if !ok || len(key) != ed25519.SeedSize {
		return nil, errors.New("it is no Ed25519 key; scidex-oci takes no other kind")
	}
	return key, nil
}
