package runner

import (
	"bytes"
	"testing"
)

// TestProgram compiles each filter once, and not the same for both.
func TestProgram(t *testing.T) {
	s := station{plain: newProgram(false), audited: newProgram(true)}
	first, err := s.filter(true)
	if err != nil {
		t.Fatal(err)
	}
	second, err := s.filter(true)
	if err != nil || &first[0] != &second[0] {
		t.Errorf("compiled again (%v)", err)
	}
	if plain, err := s.filter(false); err != nil || bytes.Equal(plain, first) {
		t.Errorf("without the audit it is the same (%v)", err)
	}
}
