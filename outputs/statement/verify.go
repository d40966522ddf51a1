package statement

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/scidex-ai/scidex-oci/outputs/result"
)

// Signed are statements whose signatures were verified. Check compares them with the result.
type Signed struct {
	statements []object
	outputs    []Output
	keys       []PublicKey // that signed
}

// Verify verifies the file of a statement: two envelopes, the provenance and the enforcement, each signed. Every signature in
// them must be one of the given keys'; a signature by no key that was given is refused, since it cannot be verified.
func Verify(file []byte, keys []PublicKey) (*Signed, error) {
	lines := bytes.SplitAfter(file, []byte("\n"))
	types := []string{provenanceType, enforcementType}
	switch {
	case len(file) > Max:
		return nil, fmt.Errorf("it has more than %d bytes", Max)
	case len(lines) != len(types)+1 || len(lines[len(types)]) > 0:
		return nil, fmt.Errorf("it is not %d lines with an envelope each", len(types))
	}
	s := &Signed{}
	for i, kind := range types {
		made, err := s.open(lines[i], keys, kind)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		s.statements = append(s.statements, made)
	}
	err := difference("line 2: subject", s.statements[1]["subject"], s.statements[0]["subject"])
	if err == nil {
		s.outputs, err = outputsOf(s.statements[0]["subject"])
	}
	return s, err
}

// open verifies one envelope and returns its statement.
func (s *Signed) open(line []byte, keys []PublicKey, kind string) (object, error) {
	e, err := parseEnvelope(line)
	if err != nil {
		return nil, fmt.Errorf("envelope: %w", err)
	}
	signed, err := e.verify(keys)
	if err != nil {
		return nil, err
	}
	for _, key := range signed {
		if _, known := find(s.keys, key.ID()); !known {
			s.keys = append(s.keys, key)
		}
	}
	made, err := parseObject(e.payload)
	if err != nil {
		return nil, fmt.Errorf("payload: %w", err)
	}
	for name, want := range map[string]string{"_type": statementType, "predicateType": kind} {
		if err := difference(name, made[name], want); err != nil {
			return nil, err
		}
	}
	return made, nil
}

// verify returns the keys that signed the envelope.
func (e envelope) verify(keys []PublicKey) (signed []PublicKey, err error) {
	message := PAE(PayloadType, e.payload)
	seen := map[string]bool{}
	for i, s := range e.signatures {
		key, ok := find(keys, s.keyID)
		switch {
		case !ok:
			return nil, fmt.Errorf("%s: it is by the key %.80q, which was not given", at("signatures", i), s.keyID)
		case seen[s.keyID]:
			return nil, fmt.Errorf("%s: it is the second by the key %s", at("signatures", i), s.keyID)
		case !key.Verifies(message, s.sig):
			return nil, fmt.Errorf("%s: it is not the key's signature of the payload: either was changed", at("signatures", i))
		}
		seen[s.keyID] = true
		signed = append(signed, key)
	}
	return signed, nil
}

func find(keys []PublicKey, id string) (PublicKey, bool) {
	for _, key := range keys {
		if key.ID() == id {
			return key, true
		}
	}
	return PublicKey{}, false
}

// Check compares the statements with those made again from the bytes of the result and from the outputs.
func (s *Signed) Check(res []byte) error {
	want, err := statements(res, s.outputs)
	if err != nil {
		return err
	}
	for i := range want {
		if err := difference("", s.statements[i], want[i]); err != nil {
			return fmt.Errorf("line %d: %w", i+1, err)
		}
	}
	r, err := parseObject(res)
	if err == nil {
		err = s.checkListing(r)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", result.File, err)
	}
	return nil
}

// checkListing compares the outputs with those that the result lists; a result may say that it does not list all.
func (s *Signed) checkListing(r object) error {
	if total := text(r["outputs_total"]); total != fmt.Sprint(len(s.outputs)) {
		return fmt.Errorf("outputs_total is %s, and the statement names %d", total, len(s.outputs))
	}
	named := map[Output]bool{}
	for _, o := range s.outputs {
		named[o] = true
	}
	listed, _ := r["outputs"].([]any)
	for i, value := range listed {
		o, _ := value.(object)
		one := Output{Path: text(o["path"]), PathB64: text(o["path_b64"]), Size: whole(o["size"]), SHA256: text(o["sha256"]), Mode: text(o["mode"])}
		if !named[one] {
			return fmt.Errorf("%s, %.80q, is not as the statement names it", at("outputs", i), one.Path)
		}
	}
	if r["listing_truncated"] == false && len(listed) != len(s.outputs) {
		return fmt.Errorf("it lists %d outputs, and the statement names %d", len(listed), len(s.outputs))
	}
	return nil
}

// outputsOf reads the subjects back. Check makes them again, so that no other field is in them.
func outputsOf(subject any) (all []Output, err error) {
	list, _ := subject.([]any)
	names := map[string]bool{}
	for i, value := range list {
		o, _ := value.(object)
		notes, _ := o["annotations"].(object)
		name := text(o["name"])
		path, isOutput := strings.CutPrefix(name, outputsDir)
		if !isOutput && i == len(list)-1 {
			return all, nil // the result
		}
		one := Output{Path: path, PathB64: text(notes["path_b64"]), Size: whole(notes["size"]), SHA256: text(inside(o, "digest", "sha256")), Mode: text(notes["mode"])}
		exact, err := one.Exact()
		if err != nil || !isOutput || one.Size < 0 || names[string(exact)] {
			return nil, fmt.Errorf("%s, %.80q, is no output, or there twice", at("subject", i), name)
		}
		names[string(exact)] = true
		all = append(all, one)
	}
	return nil, errors.New("subject: the result is not in it")
}

// Exact are the bytes of the output's path.
func (o Output) Exact() ([]byte, error) {
	if o.PathB64 == "" {
		return []byte(o.Path), nil
	}
	return base64.StdEncoding.DecodeString(o.PathB64)
}

// whole is a number that is not negative, -1 for anything else.
func whole(value any) int64 {
	number, _ := value.(json.Number)
	n, err := number.Int64()
	if err != nil {
		return -1
	}
	return n
}

// Outputs are the outputs of the run.
func (s *Signed) Outputs() []Output { return s.outputs }

// Keys are those that signed.
func (s *Signed) Keys() []PublicKey { return s.keys }

// Enforcement is the predicate of the second statement, for those who read it.
func (s *Signed) Enforcement() map[string]any {
	e, _ := s.statements[1]["predicate"].(object)
	return e
}

// ResultDigest is the SHA-256 of the result.
func (s *Signed) ResultDigest() string {
	list, _ := s.statements[0]["subject"].([]any)
	last, _ := list[len(list)-1].(object)
	return text(inside(last, "digest", "sha256"))
}
